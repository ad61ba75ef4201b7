// Real children through agent/host: how they end, what they inherit, and that nothing of them is
// left.
#include "agent/host/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>

#include "agent/process/process_table.h"
#include "tests/support/process_state.h"
#include "tests/support/temp_folder.h"
#include "tests/support/waiting.h"

namespace trainyard::agent {
namespace {

ProcessSpec shell(const TempFolder& folder, const std::string& script) {
  return {.argv = {"/bin/sh", "-c", script},
          .environment = {{"PATH", "/usr/bin:/bin"}, {"GREETING", "hello"}},
          .folder = folder.path(),
          .log_path = folder.path("log")};
}

// A started process, whose end can be waited for.
struct Started {
  std::int64_t pid = 0;
  std::shared_ptr<Awaited<ProcessEnd>> end;

  ProcessEnd wait() const {
    const auto seen = end->wait();
    REQUIRE(seen);
    return *seen;
  }
};

Started start(ProcessHost& host, const ProcessSpec& spec) {
  const auto end = std::make_shared<Awaited<ProcessEnd>>();
  const auto pid = host.start(spec, [end](const ProcessEnd& seen) { end->set(seen); });
  REQUIRE(pid);
  return {.pid = *pid, .end = end};
}

bool is_running(std::int64_t pid) {
  const auto info = find_process(pid);
  return info && info->state != 'Z' && info->state != 'X';
}

std::int64_t pid_in(const std::string& path) {
  std::int64_t pid = 0;
  REQUIRE(
      eventually([&] { return static_cast<bool>(std::istringstream(content_of(path)) >> pid); }));
  return pid;
}

}  // namespace

TEST_CASE("an exit code and a signal of the same number are told apart", "[process]") {
  const TempFolder folder;
  ProcessHost host;

  const ProcessEnd by_code = start(host, shell(folder, "exit 9")).wait();
  const ProcessEnd by_signal = start(host, shell(folder, "kill -9 $$")).wait();
  const ProcessEnd by_success = start(host, shell(folder, "exit 0")).wait();

  CHECK(by_code.exit == ExitStatus{.code = 9, .signal = std::nullopt});
  CHECK(by_signal.exit == ExitStatus{.code = std::nullopt, .signal = SIGKILL});
  CHECK(by_success.exit == ExitStatus{.code = 0, .signal = std::nullopt});
  CHECK(by_signal.killing == Killing::by_others);
}

TEST_CASE("a process gets its arguments, environment and folder, and its log is appended to",
          "[process]") {
  const TempFolder folder;
  ProcessHost host;
  write_content(folder.path("log"), "before\n");

  ProcessSpec spec = shell(folder, "echo \"$1 $GREETING\"; env | wc -l; pwd >&2");
  spec.argv.insert(spec.argv.end(), {"name", "an argument"});
  start(host, spec).wait();

  // sh itself sets PWD (and no more) next to the two variables it was given
  CHECK(content_of(folder.path("log")) == "before\nan argument hello\n3\n" + folder.path() + "\n");
}

TEST_CASE("a program that cannot be executed is an error, and leaves no zombie", "[process]") {
  const TempFolder folder;
  ProcessHost host;
  ProcessSpec spec = shell(folder, "");
  spec.argv = {folder.path("no-such-program")};

  const auto pid = host.start(spec, [](const ProcessEnd&) { FAIL("it never started"); });

  REQUIRE_FALSE(pid);
  CHECK(pid.error().message.find("no-such-program") != std::string::npos);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);  // no child is left
}

TEST_CASE("a folder or a log that is not there is an error", "[process]") {
  const TempFolder folder;
  ProcessHost host;
  ProcessSpec no_folder = shell(folder, "");
  no_folder.folder = folder.path("missing");
  ProcessSpec no_log = shell(folder, "");
  no_log.log_path = folder.path("missing/log");

  CHECK_FALSE(host.start(no_folder, [](const ProcessEnd&) {}));
  CHECK_FALSE(host.start(no_log, [](const ProcessEnd&) {}));
}

TEST_CASE("a signal reaches the whole group", "[process]") {
  const TempFolder folder;
  ProcessHost host;
  Started task = start(host, shell(folder, "sleep 600 & echo $! > child; wait"));
  const std::int64_t child = pid_in(folder.path("child"));

  host.signal_group(task.pid, SIGTERM);

  CHECK(task.wait().exit.signal == SIGTERM);
  CHECK_FALSE(is_running(child));
}

TEST_CASE("what a process leaves behind in its group is gone before its end is told", "[process]") {
  const TempFolder folder;
  ProcessHost host;
  // A grandchild that ignores SIGTERM outlives its parent.
  Started task = start(host, shell(folder,
                                   "(trap '' TERM; sh -c 'echo $$ > grandchild; exec sleep 600') &"
                                   "while ! [ -s grandchild ]; do :; done; exit 3"));
  const std::int64_t grandchild = pid_in(folder.path("grandchild"));

  const ProcessEnd end = task.wait();

  CHECK(end.exit.code == 3);
  CHECK_FALSE(is_running(grandchild));
  CHECK(running_in_group(task.pid).empty());
}

TEST_CASE("a task gets SIGTERM although the agent blocks and ignores signals", "[process]") {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  {
    const TempFolder folder;
    ProcessHost host;  // its thread inherits the mask
    Started task = start(host, shell(folder, "touch up; while :; do sleep 600; done"));
    REQUIRE(eventually([&] { return std::filesystem::exists(folder.path("up")); }));

    host.signal_group(task.pid, SIGTERM);

    CHECK(task.wait().exit.signal == SIGTERM);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("a child inherits no descriptor but its log", "[process]") {
  const TempFolder folder;
  ProcessHost host;
  const int leaky = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  REQUIRE(leaky > 2);

  // ls itself holds one on the folder it lists.
  start(host, shell(folder, "ls /proc/self/fd | wc -l")).wait();

  CHECK(content_of(folder.path("log")) == "4\n");
  ::close(leaky);
}

TEST_CASE("two hundred children leave no descriptor, no zombie and no wrong exit code",
          "[process]") {
  const TempFolder folder;
  ProcessHost host;
  start(host, shell(folder, "exit 0")).wait();
  const auto descriptors = open_descriptors();

  for (int round = 0; round < 10; ++round) {
    std::vector<Started> children;
    for (int i = 0; i < 20; ++i) {
      children.push_back(start(host, shell(folder, "exit " + std::to_string(i))));
    }
    for (int i = 0; i < 20; ++i) {
      CHECK(children[static_cast<std::size_t>(i)].wait().exit.code == i);
    }
  }

  CHECK(open_descriptors() == descriptors);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("the end of the host ends its processes", "[process]") {
  const TempFolder folder;
  Started task;
  {
    ProcessHost host;
    task = start(host, shell(folder, "sleep 600"));
  }
  CHECK(task.wait().exit.signal == SIGKILL);
  CHECK_FALSE(is_running(task.pid));
}

TEST_CASE("the kernel kills the tasks of an agent that is killed", "[process]") {
  const TempFolder folder;
  const std::string pid_file = folder.path("pid");
  const pid_t agent = ::fork();
  if (agent == 0) {  // a process of its own that starts a task and is killed
    ProcessHost host;
    static_cast<void>(
        host.start(shell(folder, "echo $$ > pid; exec sleep 600"), [](const ProcessEnd&) {}));
    while (true) ::pause();
  }
  const std::int64_t task = pid_in(pid_file);
  REQUIRE(is_running(task));

  ::kill(agent, SIGKILL);
  ::waitpid(agent, nullptr, 0);

  CHECK(eventually([&] { return !is_running(task); }));
}

TEST_CASE("a signal for a process that has ended goes nowhere", "[process]") {
  const TempFolder folder;
  ProcessHost host;
  Started ended = start(host, shell(folder, "exit 0"));
  ended.wait();
  Started other = start(host, shell(folder, "exit 5"));

  host.signal_group(ended.pid, SIGKILL);

  CHECK(other.wait().exit.code == 5);
}

}  // namespace trainyard::agent
