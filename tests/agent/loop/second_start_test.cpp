// An agent that is killed and started again: its tasks go on, and nothing of them is lost.
#include <filesystem>

#include "agent/process/lease_file.h"
#include "agent/process/process_table.h"
#include "tests/agent/end_tasks.h"
#include "tests/agent/loop/agent_program.h"
#include "tests/agent/loop/yard.h"
#include "tests/support/process_state.h"

namespace trainyard::agent {
namespace {

// A host whose agent can be killed. What its tasks run is a shell script, as in a Yard.
class HostOfPrograms {
 public:
  explicit HostOfPrograms(const std::string& script) {
    write_content(folder_.path("runtime"), std::string(script_prelude) + script);
    std::filesystem::permissions(folder_.path("runtime"), std::filesystem::perms::owner_all);
    start();
  }
  // What an agent that is killed leaves ends with its lease.
  ~HostOfPrograms() {
    agent_.reset();
    end_tasks_of(folder_.path("work"));
  }
  HostOfPrograms(const HostOfPrograms&) = delete;
  HostOfPrograms& operator=(const HostOfPrograms&) = delete;

  void start() {
    agent_ = std::make_unique<AgentProgram>(
        folder_, std::vector<std::string>{"--server", server.address(), "--work-dir", "work",
                                          "--runtime", "./runtime", "--name", "agent-1",
                                          "--allow-env", "COLOUR", "--gpus", "2"});
  }
  void kill(int signal = SIGKILL) {
    agent_->signal(signal);
    REQUIRE(agent_->wait().signal == signal);
  }
  AgentProgram& agent() { return *agent_; }

  [[nodiscard]] std::string file(const std::string& name) const { return folder_.path(name); }
  [[nodiscard]] std::string task_file(const TaskKey& key, const std::string& name) const {
    return file("work/tasks/" + key.job.text + "/1/" + std::string(name_of(key.role)) + "-0/" +
                name);
  }

  TaskReport run(const WantedTask& wanted) {
    server.want(wanted);
    const auto running = server.wait_for_task(wanted.task.key, is_running_state);
    REQUIRE(running);
    return *running;
  }
  // The newest start's.
  std::int64_t epoch() {
    std::int64_t epoch = 0;
    REQUIRE(server.wait_for_report([&](const AgentReport& report) {
      epoch = report.epoch;
      return true;
    }));
    return epoch;
  }
  // Until it is where shims read it.
  void shorten_lease() {
    server.set_stop_after(Millis{2500});
    const auto lease = LeaseFile::read_only(folder_.path("work/lease"));
    REQUIRE(lease);
    REQUIRE(eventually([&] { return lease->read()->stop_after == Millis{2500}; }));
  }
  bool wait_for_start_after(std::int64_t before) {
    return server.wait_for_report(
        [before](const AgentReport& report) { return report.epoch > before; });
  }

  ServerDouble server;

 private:
  TempFolder folder_;
  std::unique_ptr<AgentProgram> agent_;
};

bool is_gone(std::int64_t pid) {
  return eventually([pid] { return running_in_group(pid).empty(); });
}

// Goes on until the file "over" is there; what it is told meanwhile is the rest.
const std::string until_over =
    "phase running; metric 1; echo begun; i=1\n"
    "while [ ! -e ../../../../../over ]; do sleep 0.01; done\n"
    "metric 2; echo over; exit 7";

}  // namespace

TEST_CASE("an agent that was killed finds its task again, and nothing of it is lost", "[agent]") {
  HostOfPrograms host(until_over);
  const WantedTask wanted = a_wanted_task("j-1");
  const TaskKey& key = wanted.task.key;
  const TaskReport before = host.run(wanted);
  REQUIRE(host.server.wait_for_log(key, "begun\n"));
  const std::int64_t epoch = host.epoch();

  host.kill(GENERATE(SIGKILL, SIGHUP));
  CHECK(is_alive(static_cast<pid_t>(before.pid)));
  host.start();

  REQUIRE(host.wait_for_start_after(epoch));
  const auto again = host.server.wait_for_task(key, is_running_state);
  REQUIRE(again);
  CHECK(again->pid == before.pid);
  CHECK(again->started_at == before.started_at);
  write_content(host.file("over"), "");
  const auto end = host.server.wait_for_end(key);
  REQUIRE(end);
  CHECK(end->exit.code == 7);
  CHECK(end->state == TaskState::failed);
  CHECK(host.server.log_of(key) == "begun\nover\n");
  const auto events = host.server.events_of(key);
  REQUIRE(events.size() == 3);
  CHECK(std::get<MetricEvent>(events.back().what).step == 2);
}

TEST_CASE("a task that ends while its agent is away has its exit code, log, events and files",
          "[agent]") {
  HostOfPrograms host(
      "phase running; while [ ! -e ../../../../../over ]; do sleep 0.01; done\n"
      "shard 5 weights; echo last words; exit 3");
  const WantedTask wanted = a_wanted_task("j-1");
  const TaskReport before = host.run(wanted);

  host.kill();
  write_content(host.file("over"), "");
  REQUIRE(is_gone(before.pid));
  host.start();

  const auto end = host.server.wait_for_end(wanted.task.key);
  REQUIRE(end);
  CHECK(end->exit.code == 3);
  CHECK(end->log_tail == "last words\n");
  CHECK(host.server.log_of(wanted.task.key) == "last words\n");
  const auto events = host.server.events_of(wanted.task.key);
  REQUIRE(events.size() == 2);
  CHECK(host.server.artifact(std::get<ShardEvent>(events[1].what).file.sha256) == "weights");
  host.server.stop_wanting(wanted.task.key);
  CHECK(host.server.wait_until_forgotten(wanted.task.key));
  CHECK(eventually([&] { return std::filesystem::is_empty(host.file("work/tasks")); }));
}

TEST_CASE("a worker that is killed while its agent is away is started again in its folder",
          "[agent]") {
  HostOfPrograms host("phase running; echo begun; sleep 600 & wait");
  WantedTask wanted = a_wanted_task("j-1");
  wanted.task.key.index = 1;  // worker/0 is the chief
  wanted.task.spec.worker.replicas = 2;
  wanted.task.spec.training.replicas_to_aggregate = 2;
  wanted.task.cluster.worker.emplace_back("127.0.0.1:0");
  const TaskReport before = host.run(wanted);

  host.kill();
  REQUIRE(::kill(static_cast<pid_t>(before.pid), SIGKILL) == 0);
  REQUIRE(is_gone(before.pid));
  host.start();

  const auto again = host.server.wait_for_task(
      wanted.task.key, [&](const TaskReport& task) { return task.pid != before.pid; });
  REQUIRE(again);
  CHECK(again->state != TaskState::failed);
  CHECK(host.server.wait_for_log(wanted.task.key, "begun\nbegun\n"));
}

TEST_CASE("a task that is not wanted any more when its agent is back is ended", "[agent]") {
  HostOfPrograms host("phase running; sleep 600 & wait");
  const WantedTask wanted = a_wanted_task("j-1");
  const TaskReport before = host.run(wanted);

  host.kill();
  host.server.stop_wanting(wanted.task.key);
  host.start();

  CHECK(host.server.wait_until_forgotten(wanted.task.key));
  CHECK(running_in_group(before.pid).empty());
  CHECK(eventually([&] { return std::filesystem::is_empty(host.file("work/tasks")); }));
}

TEST_CASE("tasks of an agent that stays away end with its lease, and the next one says so",
          "[agent]") {
  HostOfPrograms host("phase running; sleep 600 & wait");
  const WantedTask wanted = a_wanted_task("j-1", Role::ps);
  const TaskReport before = host.run(wanted);
  host.shorten_lease();

  host.kill();
  REQUIRE(is_gone(before.pid));
  host.start();

  const auto end = host.server.wait_for_end(wanted.task.key);
  REQUIRE(end);
  CHECK(end->state == TaskState::killed);
  CHECK(end->reason == Reason::agent_lost);
}

TEST_CASE("an agent that is stopped for longer than its lease loses its tasks", "[agent]") {
  HostOfPrograms host("phase running; sleep 600 & wait");
  const WantedTask wanted = a_wanted_task("j-1", Role::ps);
  const TaskReport before = host.run(wanted);
  host.shorten_lease();

  host.agent().signal(SIGSTOP);
  CHECK(is_gone(before.pid));
  host.agent().signal(SIGCONT);

  const auto end = host.server.wait_for_end(wanted.task.key);
  REQUIRE(end);
  CHECK(end->reason == Reason::agent_lost);
}

TEST_CASE("with its shim a task and what it has started are gone, and its agent says so",
          "[agent]") {
  HostOfPrograms host("phase running; sleep 600 & wait");
  const WantedTask wanted = a_wanted_task("j-1", Role::ps);
  const TaskReport before = host.run(wanted);
  const auto task = find_process(before.pid);
  REQUIRE(task);

  REQUIRE(::kill(static_cast<pid_t>(task->parent), SIGKILL) == 0);

  const auto end = host.server.wait_for_end(wanted.task.key);
  REQUIRE(end);
  CHECK(end->state == TaskState::failed);
  CHECK(end->exit.signal == SIGKILL);
  CHECK_THAT(end->message, Catch::Contains("trainyard-shim"));
  CHECK(running_in_group(before.pid).empty());
}

TEST_CASE("a second SIGTERM ends the agent at once, and its tasks with it", "[agent]") {
  HostOfPrograms host("trap '' TERM; phase running; while :; do sleep 0.1; done");
  const TaskReport before = host.run(a_wanted_task("j-1"));

  host.agent().signal(SIGTERM);
  REQUIRE(
      eventually([&] { return host.agent().output().find("\"stopping\"") != std::string::npos; }));
  host.agent().signal(SIGTERM);

  CHECK(host.agent().wait().code == 128 + SIGTERM);
  CHECK(is_gone(before.pid));
}

TEST_CASE("a task that an agent told to end before it was killed itself ended for that",
          "[agent]") {
  HostOfPrograms host(
      "trap 'touch ../../../../../told; while [ ! -e ../../../../../over ]; do sleep 0.01; done;"
      " exit 143' TERM\n"
      "phase running; while :; do sleep 0.01; done");
  const WantedTask wanted = a_wanted_task("j-1", Role::ps);
  const TaskReport before = host.run(wanted);
  host.agent().signal(SIGTERM);
  REQUIRE(eventually([&] { return std::filesystem::exists(host.file("told")); }));

  host.kill();
  write_content(host.file("over"), "");
  REQUIRE(is_gone(before.pid));
  host.start();

  const auto end = host.server.wait_for_end(wanted.task.key);
  REQUIRE(end);
  CHECK(end->exit.code == 143);
  CHECK(end->reason == Reason::agent_stopped);
}

TEST_CASE("names that cannot be looked up, and an order that is none, end no agent", "[agent]") {
  const std::string name(300, 'n');
  HostOfPrograms host(
      "phase running; ln -s save save\n"
      "event '\"kind\":\"shard\",\"step\":1,\"file\":{\"name\":\"" +
      name + "\",\"bytes\":3,\"sha256\":\"" + std::string(64, 'a') +
      "\"}'\n"
      "while [ ! -e ../../../../../over ]; do sleep 0.01; done; exit 7");
  const WantedTask wanted = a_wanted_task("j-1", Role::ps);
  host.run(wanted);
  const std::int64_t epoch = host.epoch();

  host.kill();
  host.start();

  REQUIRE(host.wait_for_start_after(epoch));
  write_content(host.file("over"), "");
  const auto end = host.server.wait_for_end(wanted.task.key);
  REQUIRE(end);
  CHECK(end->exit.code == 7);
}

TEST_CASE("a task ends when its folder is taken away", "[agent]") {
  HostOfPrograms host("phase running; sleep 600 & wait");
  const TaskReport before = host.run(a_wanted_task("j-1", Role::ps));
  host.kill();
  std::filesystem::remove_all(host.file("work/tasks"));
  CHECK(is_gone(before.pid));
}

TEST_CASE("a task of which nothing can be read is ended when its agent is back", "[agent]") {
  HostOfPrograms host("phase running; sleep 600 & wait");
  const WantedTask wanted = a_wanted_task("j-1");
  const TaskReport before = host.run(wanted);

  host.kill();
  const std::string damaged = GENERATE("wanted", "shim", "process");
  write_content(host.task_file(wanted.task.key, damaged), "nonsense");
  host.server.stop_wanting(wanted.task.key);
  host.start();

  CHECK(host.server.wait_until_forgotten(wanted.task.key));
  CHECK(is_gone(before.pid));
}

TEST_CASE("an agent that is killed again and again ships a log once", "[agent]") {
  HostOfPrograms host(
      "phase running; echo first\n"
      "while [ ! -e ../../../../../over ]; do sleep 0.01; done; echo last");
  const WantedTask wanted = a_wanted_task("j-1");
  host.run(wanted);
  REQUIRE(host.server.wait_for_log(wanted.task.key, "first\n"));
  for (int start = 0; start < 3; ++start) {
    const std::int64_t epoch = host.epoch();
    host.kill();
    host.start();
    REQUIRE(host.wait_for_start_after(epoch));
  }
  write_content(host.file("over"), "");
  REQUIRE(host.server.wait_for_end(wanted.task.key));
  CHECK(host.server.log_of(wanted.task.key) == "first\nlast\n");
}

}  // namespace trainyard::agent
