// Run events that cannot be read or are too long: what is logged, and what a task's end waits for.
#include "agent/loop/event_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "schemas/base/descriptor.h"
#include "tests/support/temp_folder.h"
#include "tests/support/waiting.h"

namespace trainyard::agent {
namespace {

constexpr const char* event_line =
    R"({"time":"2026-11-20T19:40:00.000Z","kind":"metric","step":7,"max_steps":9,"values":{}})"
    "\n";

// What is logged while this lives.
class LoggedLines {
 public:
  explicit LoggedLines(std::string path) : path_(std::move(path)), saved_(::dup(STDERR_FILENO)) {
    const Descriptor file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    REQUIRE(file);
    ::dup2(file.get(), STDERR_FILENO);
  }
  ~LoggedLines() { ::dup2(saved_.get(), STDERR_FILENO); }
  LoggedLines(const LoggedLines&) = delete;
  LoggedLines& operator=(const LoggedLines&) = delete;

  [[nodiscard]] int count(const std::string& words) const {
    const std::string text = content_of(path_);
    int count = 0;
    for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
      ++count;
    }
    return count;
  }

 private:
  const std::string path_;
  const Descriptor saved_;
};

// One task's events.jsonl and the tail that follows it; all that is passed on is stored at once.
struct FollowedTask {
  FollowedTask() { tail.run(); }

  void append(const std::string& text) const {
    std::ofstream(task.events(), std::ios::app | std::ios::binary) << text;
  }
  // Whole in one moment: there is never no file.
  void replace_by_pipe() const {
    REQUIRE(::mkfifo(folder.path("other").c_str(), 0600) == 0);
    std::filesystem::rename(folder.path("other"), task.events());
  }
  void replace_by_file(const std::string& text) const {
    std::filesystem::rename(folder.write("other", text), task.events());
  }
  bool wait_for_events(int count) {
    return eventually([&] { return taken == count; });
  }
  bool wait_for_log(const std::string& words) {
    return eventually([&] { return logged.count(words) > 0; });
  }

  TempFolder folder;
  LoggedLines logged{folder.path("log")};
  const TaskFiles task{.key = {.job = JobId{"j-1"}, .attempt = 1, .role = Role::worker, .index = 0},
                       .token = "token",
                       .folder = folder.path()};
  std::atomic<int> taken = 0;
  Awaited<TaskKey> ended;
  EventTail tail{[this](const TailedEvents& events) {
                   taken += static_cast<int>(events.events.size());
                   tail.stored(events.task.key, events.end);
                   return true;
                 },
                 [this](const TaskKey& key) { ended.set(key); }};
};

}  // namespace

TEST_CASE("run events that cannot be read are warned of once, and taken when they can be",
          "[agent]") {
  FollowedTask followed;
  followed.tail.add(followed.task);
  followed.append(event_line);
  REQUIRE(followed.wait_for_events(1));

  followed.replace_by_pipe();
  followed.tail.add(followed.task);  // its process is started again
  REQUIRE(followed.wait_for_log("events_unread"));
  followed.replace_by_file(std::string(event_line) + event_line);
  REQUIRE(followed.wait_for_events(2));
  followed.append(event_line);
  REQUIRE(followed.wait_for_events(3));
  followed.tail.finish(followed.task.key);

  CHECK(followed.ended.wait() == followed.task.key);
  CHECK(followed.logged.count("events_unread") == 1);
  CHECK(followed.logged.count("events_read_again") == 1);
  CHECK(followed.logged.count("events_lost") == 0);
}

TEST_CASE("a task's end does not wait for ever for run events that cannot be read", "[agent]") {
  FollowedTask followed;
  followed.tail.add(followed.task);
  followed.append(event_line);
  REQUIRE(followed.wait_for_events(1));

  followed.replace_by_pipe();
  followed.tail.finish(followed.task.key);

  CHECK(followed.ended.wait() == followed.task.key);
  CHECK(followed.logged.count("events_unread") == 1);
  CHECK(followed.logged.count("events_lost") == 1);
}

TEST_CASE("a run event that is too long is one line of the log, and the next one is taken",
          "[agent]") {
  FollowedTask followed;
  followed.append(std::string(3'000'000, 'x') + "\n" + event_line);
  followed.tail.add(followed.task);

  REQUIRE(followed.wait_for_events(1));
  followed.tail.finish(followed.task.key);

  CHECK(followed.ended.wait() == followed.task.key);
  CHECK(followed.logged.count("run_event_dropped") == 1);
  CHECK(followed.logged.count("longer than the 262144 bytes") == 1);
}

}  // namespace trainyard::agent
