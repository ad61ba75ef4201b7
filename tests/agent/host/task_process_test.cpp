// Tasks through agent/host and the real trainyard-shim.
#include "agent/host/task_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>

#include "agent/process/lease_file.h"
#include "agent/process/leftovers.h"
#include "agent/process/process_table.h"
#include "schemas/base/clock.h"
#include "tests/support/process_state.h"
#include "tests/support/program_path.h"
#include "tests/support/temp_folder.h"
#include "tests/support/waiting.h"

namespace trainyard::agent {
namespace {

using namespace std::chrono_literals;

class Tasks {
 public:
  Tasks() : lease_(*LeaseFile::open(folder_.path("lease"))) { renew(); }

  ~Tasks() { lease_.end_now(); }
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  void renew() { REQUIRE(lease_.write(steady_now() + seconds(600), seconds(600))); }
  void end_lease() { lease_.end_now(); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] TaskProcesses processes() const {
    return {program_path("trainyard-shim"), path("lease")};
  }
  [[nodiscard]] TaskStart shell(const std::string& script) const {
    return {.program = {.argv = {"/bin/sh", "-c", script},
                        .environment = {{"PATH", "/usr/bin:/bin"}, {"GREETING", "hello"}},
                        .folder = folder_.path(),
                        .log_path = path("log")},
            .returns = 0,
            .started_at = WallTime{5}};
  }

 private:
  TempFolder folder_;
  LeaseFile lease_;
};

// A started task, whose end can be waited for.
struct RunningTask {
  TaskProcess process;
  std::shared_ptr<Awaited<TaskEnd>> end;

  TaskEnd wait() const {
    const auto seen = end->wait();
    REQUIRE(seen);
    return *seen;
  }
};

RunningTask start_task(TaskProcesses& processes, const TaskStart& task) {
  const auto end = std::make_shared<Awaited<TaskEnd>>();
  const auto started = processes.start(task, [end](const TaskEnd& seen) { end->set(seen); });
  REQUIRE(started);
  return {.process = *started, .end = end};
}

bool is_gone(std::int64_t pid) {
  return eventually([pid] { return !is_alive(static_cast<pid_t>(pid)); });
}

}  // namespace

TEST_CASE("a task's shim tells an exit code from a signal of the same number", "[process]") {
  const Tasks tasks;
  TaskProcesses processes = tasks.processes();
  const TaskEnd by_code = start_task(processes, tasks.shell("exit 9")).wait();
  CHECK(by_code.exit == ExitStatus{.code = 9, .signal = {}});
  CHECK(by_code.killing == Killing::none);
  const TaskEnd by_signal = start_task(processes, tasks.shell("kill -9 $$")).wait();
  CHECK(by_signal.exit == ExitStatus{.code = {}, .signal = 9});
  CHECK(by_signal.killing == Killing::by_others);
  CHECK_FALSE(by_signal.was_told);
  CHECK(by_signal.time.has_value());
}

TEST_CASE("a task has its arguments, environment, folder and log, and nothing else", "[process]") {
  const Tasks tasks;
  TaskProcesses processes = tasks.processes();
  start_task(processes, tasks.shell("echo $GREETING; pwd; read word; echo $?; ls /proc/self/fd"))
      .wait();
  // No input, and of the shim's and the agent's descriptors none: 3 is that of ls.
  CHECK(content_of(tasks.path("log")) ==
        "hello\n" + std::filesystem::canonical(tasks.path("")).string() + "\n1\n0\n1\n2\n3\n");
}

TEST_CASE("a task that cannot be started is an error, and nobody finds it", "[process]") {
  const Tasks tasks;
  TaskStart task = tasks.shell("exit 0");
  const auto never = [](const TaskEnd&) { FAIL("it never began"); };
  SECTION("no such program") {
    TaskProcesses processes = tasks.processes();
    task.program.argv.front() = "/no/such/program";
    const auto started = processes.start(task, never);
    REQUIRE_FALSE(started);
    CHECK(started.error().message == "cannot start /no/such/program: No such file or directory");
  }
  SECTION("no such shim") {
    TaskProcesses processes("/no/such/shim", tasks.path("lease"));
    CHECK_FALSE(processes.start(task, never));
  }
  SECTION("a shim that ends at once") {
    TaskProcesses processes("/bin/true", tasks.path("lease"));
    CHECK_FALSE(processes.start(task, never));
  }
  SECTION("no lease") {
    TaskProcesses processes(program_path("trainyard-shim"), tasks.path("no-lease"));
    const auto started = processes.start(task, never);
    REQUIRE_FALSE(started);
    CHECK_THAT(started.error().message, Catch::Contains("no-lease"));
  }
  CHECK_FALSE(TaskRecords(tasks.path("")).process());
}

TEST_CASE("what a task has started is gone before its end is told", "[process]") {
  const Tasks tasks;
  TaskProcesses processes = tasks.processes();
  const RunningTask task = start_task(processes, tasks.shell("sleep 600 & sleep 600 & exit 4"));
  CHECK(task.wait().exit.code == 4);
  CHECK(running_in_group(task.process.pid).empty());
}

TEST_CASE("a task is asked to end, or killed, by its shim", "[process]") {
  const Tasks tasks;
  TaskProcesses processes = tasks.processes();
  const std::string asks = "trap 'exit 5' TERM; touch ready; while :; do sleep 0.01; done";
  const RunningTask task = start_task(processes, tasks.shell(asks));
  REQUIRE(eventually([&] { return std::filesystem::exists(tasks.path("ready")); }));
  SECTION("asked") {
    processes.terminate(task.process.shim);
    const TaskEnd end = task.wait();
    CHECK(end.exit.code == 5);
    CHECK(end.was_told);
  }
  SECTION("killed, though somebody has stopped the shim") {
    REQUIRE(::kill(static_cast<pid_t>(task.process.shim), SIGSTOP) == 0);
    processes.kill(task.process.shim);
    const TaskEnd end = task.wait();
    CHECK(end.exit.signal == SIGKILL);
    CHECK(end.killing == Killing::by_us);
    CHECK(end.was_told);
  }
}

TEST_CASE("a task ends when its lease is over", "[process]") {
  Tasks tasks;
  TaskProcesses processes = tasks.processes();
  const RunningTask task = start_task(processes, tasks.shell("trap '' TERM; sleep 600"));
  tasks.end_lease();
  const TaskEnd end = task.wait();
  CHECK(end.exit.signal == SIGKILL);
  CHECK(end.outlived_lease);
  CHECK_FALSE(end.was_told);
}

TEST_CASE("a task whose shim is killed is gone, with all that it has started", "[process]") {
  const Tasks tasks;
  TaskProcesses processes = tasks.processes();
  const RunningTask task = start_task(processes, tasks.shell("sleep 600 & wait"));
  REQUIRE(::kill(static_cast<pid_t>(task.process.shim), SIGKILL) == 0);
  const TaskEnd end = task.wait();
  CHECK(end.lost_shim);
  CHECK(end.exit.signal == SIGKILL);
  CHECK(running_in_group(task.process.pid).empty());
}

TEST_CASE("the end of who has started tasks in order ends them", "[process]") {
  const Tasks tasks;
  RunningTask task;
  {
    TaskProcesses processes = tasks.processes();
    task = start_task(processes, tasks.shell("trap '' TERM; sleep 600 & wait"));
  }
  CHECK(task.wait().killing == Killing::by_us);
  CHECK(running_in_group(task.process.pid).empty());
}

TEST_CASE("another agent watches a task by its record, and is told how it ended", "[process]") {
  const Tasks tasks;
  const TaskRecords records(tasks.path(""));
  const pid_t first = ::fork();
  if (first == 0) {  // an agent that starts a task and is killed
    TaskProcesses processes = tasks.processes();
    static_cast<void>(processes.start(
        tasks.shell("while [ ! -e over ]; do sleep 0.01; done; exit 6"), [](const TaskEnd&) {}));
    while (true) ::pause();
  }
  REQUIRE(eventually([&] { return records.process().has_value(); }));
  ::kill(first, SIGKILL);
  ::waitpid(first, nullptr, 0);
  const auto shim = records.shim();
  REQUIRE(shim);
  CHECK(shim->started_at == WallTime{5});
  CHECK(presence_of(shim->shim) == Presence::there);

  SECTION("it ends while it is watched") {
    TaskProcesses second = tasks.processes();
    const auto end = std::make_shared<Awaited<TaskEnd>>();
    second.watch(tasks.path(""), shim->shim, [end](const TaskEnd& seen) { end->set(seen); });
    write_content(tasks.path("over"), "");
    REQUIRE(end->wait());
    CHECK(end->wait()->exit.code == 6);
  }
  SECTION("it has ended before") {
    write_content(tasks.path("over"), "");
    REQUIRE(is_gone(shim->shim.pid));
    TaskProcesses second = tasks.processes();
    const auto end = std::make_shared<Awaited<TaskEnd>>();
    second.watch(tasks.path(""), shim->shim, [end](const TaskEnd& seen) { end->set(seen); });
    REQUIRE(end->wait());
    CHECK(end->wait()->exit.code == 6);
  }
  SECTION("it is killed by who watches it") {
    TaskProcesses second = tasks.processes();
    const auto end = std::make_shared<Awaited<TaskEnd>>();
    second.watch(tasks.path(""), shim->shim, [end](const TaskEnd& seen) { end->set(seen); });
    second.kill(shim->shim.pid);
    REQUIRE(end->wait());
    CHECK(end->wait()->killing == Killing::by_us);
  }
  SECTION("with its folder it is ended by who has no use for it") {
    CHECK(end_recorded(tasks.path(""), std::chrono::steady_clock::now() + 60s));
    CHECK(is_gone(shim->shim.pid));
    CHECK(running_in_group(records.process()->pid).empty());
  }
}

}  // namespace trainyard::agent
