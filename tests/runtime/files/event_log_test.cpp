// A task's events.jsonl.
#include "runtime/files/event_log.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <thread>
#include <vector>

#include "runtime/files/durable_file.h"
#include "schemas/files/file.h"
#include "schemas/wire/run_event_json.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {
namespace {

std::vector<RunEvent> events_in(const std::string& folder) {
  std::istringstream lines(content_of(folder + "/events.jsonl"));
  std::vector<RunEvent> events;
  for (std::string line; std::getline(lines, line);) {
    auto event = parse_run_event(line, 0);
    REQUIRE(event.has_value());
    events.push_back(*event);
  }
  return events;
}

}  // namespace

TEST_CASE("events come back as they were said, with the time", "[event_log]") {
  const TempFolder folder;
  const auto log = EventLog::open(folder.path());
  REQUIRE(log.has_value());
  const MetricEvent metric{.step = 3, .max_steps = 9, .values = {{"loss", 0.5}}};
  const FailureEvent failure{.reason = "BAD_DATA", .message = "no such file\nat all"};
  REQUIRE(log->append(metric).has_value());
  REQUIRE(log->append(failure).has_value());

  const auto events = events_in(folder.path());
  REQUIRE(events.size() == 2);
  CHECK(std::get<MetricEvent>(events[0].what) == metric);
  CHECK(std::get<FailureEvent>(events[1].what) == failure);
  CHECK(events[0].time.is_set());
}

TEST_CASE("a second log of the folder appends", "[event_log]") {
  const TempFolder folder;
  for (int i = 0; i < 2; ++i) {
    REQUIRE(EventLog::open(folder.path())->append(PhaseEvent{}).has_value());
  }
  CHECK(events_in(folder.path()).size() == 2);
}

TEST_CASE("lines of many threads never mix", "[event_log]") {
  const TempFolder folder;
  const auto log = EventLog::open(folder.path());
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&log] {
        for (int line = 0; line < 100; ++line) {
          const PhaseEvent said{.phase = {}, .detail = std::string(500, 'x')};
          if (!log->append(said).has_value()) return;
        }
      });
    }
  }
  CHECK(events_in(folder.path()).size() == 400);
}

TEST_CASE("a line that a full disk cut short leaves nothing behind", "[event_log]") {
  const TempFolder folder;
  const auto log = EventLog::open(folder.path());
  REQUIRE(log->append(PhaseEvent{}).has_value());
  {
    // The kernel writes as far as the limit, as it does to the end of a disk.
    rlimit whole{};
    getrlimit(RLIMIT_FSIZE, &whole);
    const auto size = std::filesystem::file_size(folder.path() + "/events.jsonl");
    const rlimit full{.rlim_cur = size + 20, .rlim_max = whole.rlim_max};
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &full);
    const Status cut = log->append(FailureEvent{.reason = "BAD_DATA", .message = "lost"});
    setrlimit(RLIMIT_FSIZE, &whole);
    std::signal(SIGXFSZ, old_handler);
    CHECK(says_disk_is_full(cut.error()));
  }
  REQUIRE(log->append(FailureEvent{.reason = "BAD_DATA", .message = "kept"}).has_value());
  const auto events = events_in(folder.path());
  REQUIRE(events.size() == 2);
  CHECK(std::get<FailureEvent>(events[1].what).message == "kept");
}

TEST_CASE("events and checkpoint files say of a full disk that it is one", "[event_log][mend-B3]") {
  const TempFolder folder;
  std::filesystem::create_symlink("/dev/full", folder.path() + "/events.jsonl");
  std::filesystem::create_symlink("/dev/full", folder.path() + "/shard.partial");

  const auto log = EventLog::open(folder.path());
  REQUIRE(log.has_value());
  const Status unsaid = log->append(PhaseEvent{});
  auto shard = DurableFile::create(folder.path(), "shard");
  REQUIRE(shard.has_value());
  const Status unwritten = shard->add("weights");

  REQUIRE_FALSE(unsaid.has_value());
  CHECK(says_disk_is_full(unsaid.error()));
  REQUIRE_FALSE(unwritten.has_value());
  CHECK(says_disk_is_full(unwritten.error()));
  CHECK(unwritten.error().message.find(folder.path()) != std::string::npos);
  // Also once it has come from another program.
  CHECK(says_disk_is_full(internal("ps/0 at 10.0.0.1:20000: " + unwritten.error().message)));
  CHECK_FALSE(says_disk_is_full(unavailable("cannot write it: Input/output error")));
}

TEST_CASE("a folder that is not there is an error that names it", "[event_log]") {
  const auto log = EventLog::open("/no/such/folder");
  REQUIRE_FALSE(log.has_value());
  CHECK(log.error().message.find("/no/such/folder") != std::string::npos);
}

}  // namespace trainyard::runtime
