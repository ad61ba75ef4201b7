// The whole daemon against a real server and real processes: starting, following and ending tasks.
#include <signal.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "schemas/wire/task_json.h"
#include "tests/agent/loop/yard.h"
#include "tests/support/process_state.h"

namespace trainyard::agent {

TEST_CASE("the agent shows its host as soon as it is connected", "[agent]") {
  Yard yard("exit 0");

  CHECK(yard.server.wait_for_report([](const AgentReport& report) {
    return report.agent.text == "agent-1" && report.epoch > 0 && report.host.capacity.cpus == 4;
  }));
}

TEST_CASE("a wanted task runs, and all it wrote is there before its end is", "[agent]") {
  Yard yard("phase running; metric 10; metric 20; echo said to the log; exit 0");
  const WantedTask wanted = a_wanted_task("j-1");
  const TaskKey key = wanted.task.key;
  yard.server.want(wanted);

  const auto end = yard.server.wait_for_end(key);

  REQUIRE(end);
  CHECK(end->state == TaskState::succeeded);
  CHECK(end->exit == ExitStatus{.code = 0, .signal = std::nullopt});
  CHECK(end->token == "token-of-j-1");
  CHECK(end->started_at.is_set());
  CHECK(end->finished_at >= end->started_at);
  CHECK(yard.server.events_of(key).size() == 3);
  CHECK(yard.server.log_of(key) == "said to the log\n");
}

TEST_CASE("a task is told who it is, in its environment and its task.json", "[agent]") {
  Yard yard("env; cat $1 > task-seen.json; phase running; while :; do sleep 600; done");
  const WantedTask wanted = a_wanted_task("j-1");
  yard.server.want(wanted);
  REQUIRE(yard.server.wait_for_task(wanted.task.key, is_running_state));

  REQUIRE(yard.server.wait_for_log(wanted.task.key, "TRAINYARD_TASK=worker/0\n"));
  const std::string log = yard.server.log_of(wanted.task.key);
  for (const char* line :
       {"CUDA_VISIBLE_DEVICES=1\n", "CUDA_DEVICE_ORDER=PCI_BUS_ID\n", "OMP_NUM_THREADS=2\n",
        "COLOUR=green\n", "TRAINYARD_JOB=j-1\n", "TRAINYARD_TRANSPORT=tcp\n"}) {
    CHECK(log.find(line) != std::string::npos);
  }
  const std::string folder = yard.task_folder(wanted.task.key);
  const auto context = parse_task_context(content_of(folder + "/task-seen.json"));
  REQUIRE(context);
  CHECK(context->folder == std::filesystem::canonical(folder));
  CHECK(context->token == wanted.task.token);
}

TEST_CASE("a failed task is shown with its exit code and the end of its log", "[agent]") {
  Yard yard("echo about to fail >&2; exit 3");
  yard.server.want(a_wanted_task("j-1"));

  const auto end = yard.server.wait_for_end(a_wanted_task("j-1").task.key);

  REQUIRE(end);
  CHECK(end->state == TaskState::failed);
  CHECK(end->exit.code == 3);
  CHECK(end->log_tail == "about to fail\n");
}

TEST_CASE("a program that cannot be executed fails the task with a reason", "[agent]") {
  Yard yard("");
  write_content(yard.file("runtime"), "\177ELF but no more");
  yard.server.want(a_wanted_task("j-1"));

  const auto end = yard.server.wait_for_end(a_wanted_task("j-1").task.key);

  REQUIRE(end);
  CHECK(end->state == TaskState::failed);
  CHECK(end->reason == Reason::start_failed);
  CHECK(end->message.find("runtime") != std::string::npos);
}

TEST_CASE("a task that is not wanted any more is ended, forgotten and its folder removed",
          "[agent]") {
  Yard yard("trap 'exit 0' TERM; phase running; while :; do sleep 0.01; done");
  const TaskKey key = a_wanted_task("j-1").task.key;
  yard.server.want(a_wanted_task("j-1"));
  const auto running = yard.server.wait_for_task(key, is_running_state);
  REQUIRE(running);

  yard.server.stop_wanting(key);

  CHECK(yard.server.wait_until_forgotten(key));
  CHECK_FALSE(is_alive(static_cast<pid_t>(running->pid)));
  CHECK(std::filesystem::is_empty(yard.file("work/tasks")));
}

TEST_CASE("a task that is to stop gets its grace", "[agent]") {
  Yard yard("trap 'echo bye; exit 0' TERM; phase running; while :; do sleep 0.01; done");
  WantedTask wanted = a_wanted_task("j-1");
  yard.server.want(wanted);
  REQUIRE(yard.server.wait_for_task(wanted.task.key, is_running_state));

  wanted.stop = StopOrder::stop;
  yard.server.want(wanted);

  const auto end = yard.server.wait_for_end(wanted.task.key);
  REQUIRE(end);
  CHECK(end->exit.code == 0);
  CHECK(yard.server.log_of(wanted.task.key).ends_with("bye\n"));  // after what sh says
}

TEST_CASE("a task that ignores its grace is killed after it", "[agent]") {
  Yard yard("trap '' TERM; phase running; while :; do sleep 0.01; done");
  WantedTask wanted = a_wanted_task("j-1");
  wanted.grace = Millis{200};
  yard.server.want(wanted);
  REQUIRE(yard.server.wait_for_task(wanted.task.key, is_running_state));

  wanted.stop = StopOrder::stop;
  yard.server.want(wanted);

  const auto end = yard.server.wait_for_end(wanted.task.key);
  REQUIRE(end);
  CHECK(end->state == TaskState::killed);
  CHECK(end->exit.signal == SIGKILL);
}

TEST_CASE("a worker that was killed goes on in its folder, and nothing it wrote is lost",
          "[agent]") {
  Yard yard(
      "phase running; metric $(wc -l < events.jsonl); echo process $(wc -l < events.jsonl);"
      "[ $(wc -l < events.jsonl) -ge 6 ] || kill -9 $$; exit 0");
  WantedTask wanted = a_wanted_task("j-1");
  wanted.task.key.index = 1;  // worker/0 is the chief
  wanted.task.spec.worker.replicas = 2;
  wanted.task.spec.training.replicas_to_aggregate = 2;
  wanted.task.cluster.worker.emplace_back("127.0.0.1:0");
  yard.server.want(wanted);

  const auto end = yard.server.wait_for_end(wanted.task.key);

  REQUIRE(end);
  CHECK(end->state == TaskState::succeeded);
  CHECK(yard.server.events_of(wanted.task.key).size() == 6);
  CHECK(yard.server.log_of(wanted.task.key) == "process 2\nprocess 4\nprocess 6\n");
}

TEST_CASE("several tasks run side by side and are told apart", "[agent]") {
  Yard yard("phase running; echo $TRAINYARD_JOB; case $TRAINYARD_JOB in j-3) exit 7;; esac");
  for (const char* job : {"j-1", "j-2", "j-3", "j-4"}) yard.server.want(a_wanted_task(job));

  for (const std::string job : {"j-1", "j-2", "j-3", "j-4"}) {
    const TaskKey key = a_wanted_task(job).task.key;
    const auto end = yard.server.wait_for_end(key);
    REQUIRE(end);
    CHECK(end->exit.code == (job == "j-3" ? 7 : 0));
    CHECK(yard.server.log_of(key) == job + "\n");
  }
}

TEST_CASE("a task with a variable that the agent does not allow is not started, by name",
          "[agent][mend-A8]") {
  Yard yard("touch started; exit 0");
  for (const std::string name : {"SHAPE", "LD_PRELOAD", "OPENSSL_CONF"}) {
    WantedTask wanted = a_wanted_task("j-" + name);
    wanted.task.spec.env = {{"OMP_PROC_BIND", "true"}, {"COLOUR", "red"}, {name, "x"}};

    yard.server.want(wanted);

    const auto end = yard.server.wait_for_end(wanted.task.key);
    REQUIRE(end);
    CHECK(end->reason == Reason::start_failed);
    CHECK_THAT(end->message, Catch::Contains(name));
    CHECK_FALSE(std::filesystem::exists(yard.task_folder(wanted.task.key) + "/started"));
  }
}

TEST_CASE("a daemon without tasks says that it leaves", "[agent]") {
  Yard yard("exit 0");
  REQUIRE(yard.server.wait_for_report([](const AgentReport& report) { return !report.leaving; }));

  yard.stop();

  CHECK(yard.server.wait_for_report([](const AgentReport& report) { return report.leaving; }));
}

TEST_CASE("a daemon that stops ends its tasks and says so; the next has a larger epoch",
          "[agent]") {
  Yard yard("phase running; while :; do sleep 600; done");
  const TaskKey key = a_wanted_task("j-1").task.key;
  yard.server.want(a_wanted_task("j-1"));
  const auto running = yard.server.wait_for_task(key, is_running_state);
  REQUIRE(running);
  std::int64_t epoch = 0;
  REQUIRE(yard.server.wait_for_report([&](const AgentReport& report) {
    epoch = report.epoch;
    return true;
  }));

  yard.stop();

  const auto end = yard.server.wait_for_end(key);
  REQUIRE(end);
  CHECK(end->reason == Reason::agent_stopped);
  CHECK_FALSE(is_alive(static_cast<pid_t>(running->pid)));

  yard.server.stop_wanting(key);
  yard.start();
  CHECK(yard.server.wait_for_report(
      [&](const AgentReport& report) { return report.epoch > epoch && report.tasks.empty(); }));
}

TEST_CASE("a port that another program holds is told before the task starts", "[agent][mend-B1]") {
  Yard yard("phase running; exit 0");
  const std::string held = yard.server.address();  // the double is the other program
  WantedTask wanted = a_wanted_task("j-1", Role::ps);
  wanted.task.listen = held;
  yard.server.want(wanted);

  const auto end = yard.server.wait_for_end(wanted.task.key);

  REQUIRE(end);
  CHECK(end->state == TaskState::failed);
  CHECK(end->reason == Reason::port_in_use);
  CHECK(end->pid == 0);
  CHECK_THAT(end->message, Catch::Contains("port " + held.substr(held.rfind(':') + 1)));
}

TEST_CASE("a task that ends for want of space says which folder has none", "[agent][mend-B3]") {
  Yard yard("exit 28");
  yard.server.want(a_wanted_task("j-1"));

  const auto end = yard.server.wait_for_end(a_wanted_task("j-1").task.key);

  REQUIRE(end);
  CHECK(end->reason == Reason::no_space);
  CHECK_THAT(end->message, Catch::Contains("no space is left") && Catch::Contains("/tasks/j-1/1"));
}

TEST_CASE("a task that others killed is not said to have been out of memory", "[agent][mend-B8]") {
  Yard yard("kill -9 $$");
  WantedTask wanted = a_wanted_task("j-1");
  wanted.task.spec.run_policy.max_restarts = 0;
  yard.server.want(wanted);

  const auto end = yard.server.wait_for_end(wanted.task.key);

  REQUIRE(end);
  CHECK(end->exit.signal == SIGKILL);
  CHECK(end->reason == Reason::none);
  CHECK_THAT(end->message, Catch::Contains("SIGKILL, which its agent did not send"));
}

TEST_CASE("a task may not name data outside of the data roots", "[agent][mend-B14]") {
  Yard yard("phase running; echo \"roots: $TRAINYARD_DATA_ROOTS\"; exit 0");
  yard.stop();
  const std::string root = std::filesystem::canonical(yard.file(".")).string() + "/data";
  std::filesystem::create_directory(root);
  std::filesystem::create_symlink("/etc", root + "/link");
  yard.set_data_roots({root});
  yard.start();
  const auto end_with = [&yard](const std::string& job, const std::string& path) {
    WantedTask wanted = a_wanted_task(job);
    wanted.task.spec.dataset.format = "csv";
    wanted.task.spec.dataset.path = path;
    yard.server.want(wanted);
    const auto end = yard.server.wait_for_end(wanted.task.key);
    REQUIRE(end);
    return *end;
  };

  int count = 0;
  for (const std::string& path :
       {std::string("/etc/passwd"), root + "/link/passwd", root + "/../x", root + "-beside"}) {
    const TaskReport end = end_with("j-" + std::to_string(++count), path);
    CHECK(end.reason == Reason::bad_data);
    CHECK_THAT(end.message, Catch::StartsWith("dataset.path: ") && Catch::Contains("--data-root"));
  }
  CHECK(end_with("j-in", root + "/x.csv").state == TaskState::succeeded);
  CHECK_THAT(yard.server.log_of(a_wanted_task("j-in").task.key), Catch::Contains("roots: " + root));
}

}  // namespace trainyard::agent
