// What the failure of one task does to its job.
#include <catch2/catch.hpp>

#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

Yard running_job(std::int64_t max_restarts = 3) {
  Yard yard;
  yard.join("a");
  JobSpec spec = a_spec();
  spec.run_policy.max_restarts = max_restarts;
  REQUIRE(yard.submit("j", spec));
  yard.obey("a");
  return yard;
}

void end_all(Yard& yard) {
  for (const char* task : {"worker/0", "worker/1", "ps/0"}) {
    if (!is_terminal(yard.task("j", task).state)) yard.end("a", task, {{}, 15});
  }
}

}  // namespace

TEST_CASE("one task that fails ends the attempt, and the gang runs again after a while",
          "[scheduler]") {
  Yard yard = running_job();
  yard.shown("a", "worker/1").log_tail = "no space left";
  yard.end("a", "worker/1", {7, {}});

  CHECK(yard.job("j").state == JobState::stopping);
  CHECK(yard.job("j").goal == JobState::queued);
  const FirstFailure first = yard.job("j").first_failure.value();
  CHECK(first.task == "worker/1");
  CHECK(first.exit.code == 7);
  CHECK(first.reason == Reason::exit_nonzero);
  CHECK(first.log_tail == "no space left");
  for (const WantedTask& task : yard.wanted.at(AgentId{"a"}).tasks)
    CHECK(task.stop == StopOrder::stop);

  end_all(yard);
  CHECK(yard.job("j").state == JobState::queued);
  CHECK(yard.job("j").reason == Reason::backing_off);
  CHECK(yard.job("j").restarts == Restarts{1, 0});
  yard.pass(seconds(1));
  CHECK(yard.job("j").state == JobState::starting);
  CHECK(yard.job("j").attempt == 2);
}

TEST_CASE("a gang whose host has a bad GPU or disk goes elsewhere, if there is room",
          "[scheduler]") {
  const std::string reason = GENERATE("NO_GPU", "NO_SPACE", "PEER_DIFFERS", "EXIT_NONZERO");
  const bool is_of_host = reason != "EXIT_NONZERO";
  const bool has_room_elsewhere = GENERATE(true, false);
  INFO(reason << (has_room_elsewhere ? ", with another host" : ", without"));
  Yard yard = running_job();                               // on "a", the only one
  if (has_room_elsewhere) yard.join("b");  // of two that are alike the first is taken
  yard.tell("a", "worker/1", FailureEvent{reason, "worker/1 cannot go on here"});
  yard.end("a", "worker/1", {1, {}});
  CHECK(name_of(yard.job("j").first_failure->reason) == reason);
  end_all(yard);
  yard.pass(seconds(1));
  REQUIRE(yard.job("j").state == JobState::starting);
  const std::string expected = is_of_host && has_room_elsewhere ? "b" : "a";
  for (const char* task : {"worker/0", "worker/1", "ps/0"}) {
    CHECK(yard.task("j", task).agent.text == expected);
  }
  if (!is_of_host || !has_room_elsewhere) return;

  // Of another failure it says nothing: it is packed as ever.
  yard.obey("b");
  yard.end("b", "worker/1", {7, {}});
  for (const char* task : {"worker/0", "ps/0"}) yard.end("b", task, {{}, 15});
  yard.pass(seconds(3));
  REQUIRE(yard.job("j").state == JobState::starting);
  CHECK(yard.task("j", "worker/0").agent.text == "a");
}

TEST_CASE("a task that lost a peer is not named when the cause comes after it", "[scheduler]") {
  Yard yard = running_job();
  yard.tell("a", "ps/0", FailureEvent{"PEER_LOST", "worker/1 is gone"});
  yard.end("a", "ps/0", {1, {}});
  CHECK(yard.job("j").first_failure->reason == Reason::peer_lost);

  yard.tell("a", "worker/1", FailureEvent{"BAD_DATA", "train.csv: line 3 has 4 columns"});
  yard.shown("a", "worker/1").state = TaskState::failed;
  yard.shown("a", "worker/1").exit = {1, {}};
  yard.speak("a");

  CHECK(yard.job("j").first_failure->task == "worker/1");
  CHECK(yard.job("j").first_failure->reason == Reason::bad_data);
  CHECK(yard.job("j").goal == JobState::failed);
  end_all(yard);
  CHECK(yard.job("j").state == JobState::failed);
  CHECK(yard.job("j").reason == Reason::bad_data);
}

TEST_CASE("a checkpoint that does not fit fails the job at once", "[scheduler]") {
  Yard yard = running_job();
  yard.tell("a", "ps/0", FailureEvent{"CHECKPOINT_MISMATCH", "it is of another model"});
  yard.end("a", "ps/0", {1, {}});
  CHECK(yard.job("j").goal == JobState::failed);
  end_all(yard);
  CHECK(yard.job("j").state == JobState::failed);
  CHECK(yard.job("j").reason == Reason::checkpoint_mismatch);
  CHECK(yard.job("j").restarts == Restarts{0, 0});
}

TEST_CASE("a job fails once its restarts are used up", "[scheduler]") {
  Yard yard = running_job(1);
  yard.end("a", "worker/1", {1, {}});
  end_all(yard);
  yard.pass(seconds(1));
  yard.obey("a");
  CHECK(yard.job("j").state == JobState::running);
  yard.end("a", "worker/0", {1, {}});
  end_all(yard);
  CHECK(yard.job("j").state == JobState::failed);
  CHECK(yard.job("j").reason == Reason::restarts_exhausted);
}

TEST_CASE("a signal is infrastructure's failure and costs the user no restart", "[scheduler]") {
  Yard yard = running_job(0);
  yard.end("a", "worker/1", {{}, 9});
  end_all(yard);
  CHECK(yard.job("j").state == JobState::queued);
  CHECK(yard.job("j").restarts == Restarts{0, 1});
}

TEST_CASE("a cancel during a failure wins", "[scheduler]") {
  Yard yard = running_job();
  yard.end("a", "worker/1", {1, {}});
  REQUIRE(yard.act("j", JobAction::cancel));
  end_all(yard);
  CHECK(yard.job("j").state == JobState::cancelled);
}

TEST_CASE("words of an older attempt count for nothing", "[scheduler]") {
  Yard yard = running_job();
  TaskReport older = yard.shown("a", "worker/0");
  older.key.attempt = 7;
  older.state = TaskState::failed;
  older.exit = {1, {}};
  yard.report_of("a").tasks.push_back(older);
  yard.speak("a");
  CHECK(yard.job("j").state == JobState::running);
  CHECK_FALSE(yard.job("j").first_failure);
}

TEST_CASE("a task's report carries the token of the very task, not of its gang or peer [mend-A9]",
          "[scheduler]") {
  for (const char* token : {"gang j 1", "task j/1/worker/1", "task j/1/ps/0", "guessed", ""}) {
    Yard yard = running_job();
    TaskReport forged = yard.shown("a", "worker/0");
    forged.token = token;
    forged.state = TaskState::failed;
    forged.exit = {1, {}};
    yard.show("a", forged);
    const FirstFailure first = yard.job("j").first_failure.value();
    CHECK(first.reason == Reason::agent_lost);  // as if it were not shown: its words do not count
    CHECK_FALSE(first.exit.code);
  }
}

TEST_CASE("a task that is shown with another token is lost, and its gang runs again",
          "[scheduler]") {
  Yard yard = running_job(0);  // it is no fault of the user's
  yard.restart();
  const std::int64_t applied = yard.report_of("a").generation;
  for (TaskReport& task : yard.report_of("a").tasks) task.token = "under a key that is lost";

  yard.report_of("a").generation = applied - 1;
  yard.speak("a");
  CHECK(yard.job("j").state == JobState::running);
  yard.report_of("a").generation = applied;
  yard.speak("a");
  CHECK(yard.job("j").state == JobState::queued);
  CHECK(yard.job("j").restarts == Restarts{0, 1});
  CHECK(yard.job("j").first_failure.value().message.find("token") != std::string::npos);

  yard.pass(seconds(1));
  CHECK(yard.job("j").attempt == 1);  // its agent has yet to end the processes of before
  yard.obey("a");
  yard.obey("a");
  CHECK(yard.job("j").attempt == 2);
  CHECK(yard.job("j").state == JobState::running);
}

TEST_CASE("a cancel ends though the agent shows the tasks with other tokens", "[scheduler]") {
  Yard yard = running_job();
  for (TaskReport& task : yard.report_of("a").tasks) task.token = "under a key that is lost";
  REQUIRE(yard.act("j", JobAction::cancel));
  CHECK(yard.job("j").state == JobState::stopping);
  yard.speak("a");
  CHECK(yard.job("j").state == JobState::cancelled);
}

TEST_CASE("a process that a server of before placed may go on with its token [mend-A9]",
          "[scheduler]") {
  Yard yard = running_job();
  yard.job("j").token_seed = 99;
  yard.restart();
  TaskReport old = yard.shown("a", "worker/0");
  old.token = token_of_before(yard.job("j"), 1);
  old.state = TaskState::failed;
  old.exit = {1, {}};
  yard.show("a", old);
  CHECK(yard.job("j").state == JobState::stopping);
}

}  // namespace trainyard::scheduler
