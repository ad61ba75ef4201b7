// Agents that fall silent, come back, or start anew; reports that come twice, late, or in the wrong
// order.
#include <catch2/catch.hpp>

#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

Yard running_job() {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j"));
  yard.obey("a");
  REQUIRE(yard.job("j").state == JobState::running);
  return yard;
}

}  // namespace

TEST_CASE("a silent agent's tasks are unknown, then lost", "[scheduler]") {
  Yard yard = running_job();
  yard.pass(seconds(10));
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::disconnected);
  CHECK(yard.task("j", "ps/0").agent_silent);
  CHECK(yard.job("j").state == JobState::running);

  yard.pass(seconds(80));
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::down);
  CHECK(yard.task("j", "ps/0").state == TaskState::lost);
  CHECK(yard.job("j").state == JobState::queued);
  CHECK(yard.job("j").restarts == Restarts{0, 1});
  CHECK(yard.job("j").first_failure->reason == Reason::agent_lost);
}

TEST_CASE("an agent's state has the time at which it became so", "[scheduler]") {
  Yard yard;
  yard.join("a");
  const WallTime joined = yard.now.wall;
  CHECK(yard.agents.at(AgentId{"a"}).registered_at == joined);
  yard.pass(seconds(5));
  yard.speak("a");
  CHECK(yard.agents.at(AgentId{"a"}).state_since == joined);
  yard.pass(seconds(10));
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::disconnected);
  CHECK(yard.agents.at(AgentId{"a"}).state_since == yard.now.wall);
}

TEST_CASE("an agent that is first heard of as it leaves is down from then on", "[scheduler]") {
  Yard yard;
  AgentReport leaving;
  leaving.agent = AgentId{"a"};
  leaving.instance = "folder";
  leaving.epoch = leaving.number = 1;
  leaving.leaving = true;
  yard.step(leaving);
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::down);
  CHECK(yard.agents.at(AgentId{"a"}).state_since == yard.now.wall);
}

TEST_CASE("an agent that speaks again in time goes on", "[scheduler]") {
  Yard yard = running_job();
  yard.pass(seconds(89));
  yard.speak("a");
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::ready);
  CHECK_FALSE(yard.task("j", "ps/0").agent_silent);
  yard.pass(seconds(80));
  CHECK(yard.job("j").state == JobState::running);
}

TEST_CASE("an agent that comes back with tasks given up takes nothing new until they are gone",
          "[scheduler]") {
  Yard yard = running_job();
  yard.pass(seconds(90));
  yard.pass(seconds(2));
  yard.speak("a");  // still shows the old tasks as running
  CHECK(yard.job("j").state == JobState::queued);
  yard.obey("a");
  CHECK(yard.job("j").state == JobState::starting);
}

TEST_CASE("a new start of an agent that shows no task has none", "[scheduler]") {
  Yard yard = running_job();
  const AgentReport late = yard.report_of("a");
  yard.join("a");
  CHECK(yard.job("j").state == JobState::queued);
  CHECK(yard.job("j").first_failure->reason == Reason::agent_restarted);

  AgentReport older = late;
  older.number = 1000;
  const Step step = yard.step(older);
  CHECK(step.save.empty());
  CHECK(step.send.empty());
  REQUIRE(step.refuse.size() == 1);
  CHECK(step.refuse[0].why.find("is over") != std::string::npos);
}

namespace {

// The first report of a new start, which has found all that the one before had.
AgentReport next_start(Yard& yard) {
  AgentReport report = yard.report_of("a");
  report.epoch += 1;
  report.number = 1;
  report.generation = 0;
  return report;
}

}  // namespace

TEST_CASE("a new start of an agent that has found its tasks goes on with them", "[scheduler]") {
  Yard yard = running_job();
  AgentReport found = next_start(yard);
  const Step step = yard.step(found);
  CHECK(std::ranges::any_of(step.save, [](const Change& change) {
    const auto* event = std::get_if<AppendJobEvent>(&change);
    return event != nullptr && event->kind == "agent" &&
           event->message == "agent a started anew, and goes on with ps/0, worker/0, worker/1";
  }));
  CHECK(yard.job("j").state == JobState::running);
  CHECK(yard.wanted.at(AgentId{"a"}).epoch == found.epoch);
  CHECK(yard.wanted.at(AgentId{"a"}).tasks.size() == found.tasks.size());

  yard.restart();
  found.number += 1;
  yard.step(found);
  CHECK(yard.job("j").state == JobState::running);
  CHECK(yard.job("j").attempt == 1);
}

TEST_CASE("what a new start has not found is over, though it has applied nothing yet",
          "[scheduler]") {
  Yard yard = running_job();
  AgentReport found = next_start(yard);
  SECTION("one is missing") { found.tasks.pop_back(); }
  SECTION("one has another token") { found.tasks.back().token = "another"; }
  yard.step(found);
  CHECK(yard.job("j").state != JobState::running);
  REQUIRE(yard.job("j").first_failure.has_value());
  CHECK(yard.job("j").first_failure->reason == Reason::agent_restarted);
}

TEST_CASE("a new start with other slots takes nothing until what it has found is gone",
          "[scheduler]") {
  Yard yard = running_job();
  AgentReport& found = yard.report_of("a");
  found = next_start(yard);
  const HostInfo before = found.host;
  SECTION("it listens elsewhere") { found.host.address = "10.0.0.99"; }
  SECTION("it offers less than they have") { found.host.capacity.cpus = 0; }
  SECTION("its ports are others") { found.host.last_port -= 1; }
  yard.step(found);
  yard.join("b");

  const auto is_waited_for = [&] {
    CHECK(yard.job("j").state == JobState::stopping);
    CHECK(yard.task("j", "worker/1").state == TaskState::stopping);
    CHECK(yard.agents.at(AgentId{"a"}).host == before);
    for (const WantedTask& task : yard.wanted.at(AgentId{"a"}).tasks) {
      CHECK(task.stop == StopOrder::stop);
    }
  };
  is_waited_for();
  CHECK(yard.job("j").first_failure->reason == Reason::agent_restarted);
  yard.restart();
  yard.speak("a");
  is_waited_for();
  REQUIRE(yard.submit("k"));
  yard.speak("b");
  CHECK(yard.task("k", "ps/0").agent == AgentId{"b"});

  for (const char* name : {"ps/0", "worker/0"}) yard.end("a", name, {std::nullopt, 15});
  is_waited_for();
  yard.end("a", "worker/1", {std::nullopt, 15});
  CHECK(yard.job("j").state != JobState::stopping);
  CHECK(yard.agents.at(AgentId{"a"}).host == found.host);
  CHECK(yard.job("j").restarts == Restarts{0, 1});
}

TEST_CASE("a job that no agent could hold begins when a new start offers enough", "[scheduler]") {
  Yard yard;
  yard.join("large", {8, 16'000, 2});
  JobSpec spec = a_spec();
  spec.ps.resources.cpus = 6;
  REQUIRE(yard.submit("j", spec));
  yard.pass(seconds(80));
  yard.join("small");
  yard.pass(seconds(80));
  yard.pass(seconds(80));
  yard.speak("small");
  REQUIRE(yard.agents.at(AgentId{"small"}).state == AgentState::ready);
  REQUIRE(yard.job("j").reason == Reason::no_capacity);

  yard.join("small", {8, 16'000, 2});
  CHECK(yard.job("j").state == JobState::starting);
}

TEST_CASE("a new start with other labels and enough of all goes on with its tasks", "[scheduler]") {
  Yard yard = running_job();
  AgentReport found = next_start(yard);
  found.host.labels["rack"] = "7";
  found.host.capacity.memory_mb -= 1;  // another limit, and enough for what runs
  found.host.agent_version = "9.9.9";
  yard.step(found);
  CHECK(yard.job("j").state == JobState::running);
  CHECK(yard.agents.at(AgentId{"a"}).host == found.host);
}

TEST_CASE("another agent of the same name is refused until the first is down", "[scheduler]") {
  Yard yard = running_job();
  AgentReport other = yard.report_of("a");
  other.instance = "another folder";
  other.epoch += 1000;
  other.number = 1;
  other.tasks.clear();

  const Step refused = yard.step(other);
  REQUIRE(refused.refuse.size() == 1);
  CHECK(refused.refuse[0].instance == "another folder");
  CHECK(refused.refuse[0].epoch == other.epoch);
  CHECK(refused.refuse[0].why.find("another agent has the name a") == 0);
  CHECK(refused.save.empty());
  CHECK(refused.send.empty());
  CHECK(yard.job("j").state == JobState::running);

  yard.restart();  // the first is known from its row
  CHECK(yard.step(other).refuse.size() == 1);

  yard.pass(seconds(90));
  CHECK(yard.step(other).refuse.empty());
  CHECK(yard.agents.at(AgentId{"a"}).instance == "another folder");
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::ready);
  CHECK(yard.step(yard.report_of("a")).refuse.size() == 1);
}

TEST_CASE("an agent that leaves takes nothing new, and is down with its last task", "[scheduler]") {
  Yard yard = running_job();
  yard.join("b");
  AgentReport leaving = yard.report_of("a");
  leaving.leaving = true;
  leaving.generation = yard.wanted.at(AgentId{"a"}).generation;
  leaving.number += 1;
  yard.step(leaving);
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::draining);

  for (TaskReport& task : leaving.tasks) {
    task.state = TaskState::killed;
    task.exit.signal = 15;
    task.reason = Reason::agent_restarted;
  }
  leaving.number += 1;
  CHECK(yard.step(leaving).send.size() >= 1);
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::down);

  yard.pass(seconds(5));
  yard.speak("b");
  CHECK(yard.job("j").state == JobState::starting);
  CHECK(yard.task("j", "ps/0").agent == AgentId{"b"});
}

TEST_CASE("what was placed on an agent that had begun to leave is placed anew at once",
          "[scheduler]") {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j"));
  CHECK(yard.job("j").state == JobState::starting);
  AgentReport leaving = yard.report_of("a");  // sent before the assignment came
  leaving.leaving = true;
  leaving.number += 1;
  yard.step(leaving);
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::down);
  CHECK(yard.job("j").state == JobState::queued);
}

TEST_CASE("a report that a newer one has overtaken is ignored", "[scheduler]") {
  Yard yard;
  yard.join("a");
  AgentReport early = yard.report_of("a");
  yard.speak("a");
  CHECK(yard.step(early).send.empty());
  early.number = 3;
  CHECK(yard.step(early).send.size() == 1);
}

TEST_CASE("a missing task is gone only once its assignment was applied", "[scheduler]") {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j"));
  yard.speak("a");  // sent before the assignment came
  CHECK(yard.job("j").state == JobState::starting);
  yard.report_of("a").generation = yard.wanted.at(AgentId{"a"}).generation;
  yard.speak("a");  // applied, and yet the tasks are not there
  CHECK(yard.task("j", "ps/0").state == TaskState::lost);
}

TEST_CASE("after a restart of the server every silence begins anew and nothing ends",
          "[scheduler]") {
  Yard yard = running_job();
  yard.pass(seconds(80));
  yard.restart();
  yard.pass(seconds(80));
  CHECK(yard.job("j").state == JobState::running);
  yard.speak("a");
  CHECK(yard.job("j").state == JobState::running);
  CHECK(yard.wanted.at(AgentId{"a"}).tasks.size() == 3);
}

TEST_CASE("after a restart of the server deadlines go on where they were", "[scheduler]") {
  Yard yard;
  JobSpec spec = a_spec();
  spec.scheduling.max_queued_seconds = 10;
  REQUIRE(yard.submit("j", spec));
  yard.pass(seconds(6));
  yard.restart();
  yard.pass(seconds(3));
  CHECK(yard.job("j").state == JobState::queued);
  yard.pass(seconds(1));
  CHECK(yard.job("j").state == JobState::failed);
}

TEST_CASE("after a restart nothing is placed on an agent that has not spoken", "[scheduler]") {
  Yard yard;
  yard.join("a");
  yard.restart();
  REQUIRE(yard.submit("j"));
  CHECK(yard.job("j").state == JobState::queued);
  yard.speak("a");
  CHECK(yard.job("j").state == JobState::starting);
}

TEST_CASE("an agent whose generation is ahead of the rows is still obeyed", "[scheduler]") {
  Yard yard;
  yard.join("a");
  yard.report_of("a").generation = 57;
  yard.speak("a");
  CHECK(yard.wanted.at(AgentId{"a"}).generation > 57);
}

TEST_CASE("a quiet heartbeat saves nothing", "[scheduler]") {
  Yard yard = running_job();
  yard.speak("a");
  AgentReport again = yard.report_of("a");
  ++again.number;
  CHECK(yard.step(again).save.empty());
  CHECK(yard.step(Tick{}).save.empty());
}

TEST_CASE("a task that is shown with another process is the same task", "[scheduler]") {
  Yard yard = running_job();
  const TaskAttempt before = yard.task("j", "worker/1");

  yard.shown("a", "worker/1").pid = before.pid + 1;
  yard.speak("a");

  TaskAttempt expected = before;
  expected.pid = before.pid + 1;
  CHECK(yard.task("j", "worker/1") == expected);
  CHECK(yard.job("j").attempt == before.key.attempt);
}

TEST_CASE("a task that is started again has the whole time to make progress", "[scheduler]") {
  JobSpec spec = a_spec();
  spec.run_policy.no_progress_timeout_seconds = 50;
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j", spec));
  yard.obey("a");
  const auto wait = [&yard](std::int64_t time) {
    for (; time > 0; time -= 5) {
      yard.pass(seconds(5));
      yard.speak("a");
    }
  };
  wait(40);
  yard.shown("a", "worker/1").pid += 1;
  yard.speak("a");
  wait(45);
  CHECK(yard.job("j").state == JobState::running);
  wait(10);
  CHECK(yard.job("j").state == JobState::stopping);
}

}  // namespace trainyard::scheduler
