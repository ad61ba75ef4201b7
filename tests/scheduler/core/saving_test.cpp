// A suspension saves first: who is told, what ends it, and what does not wait for it.
#include <catch2/catch.hpp>
#include <set>

#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

Yard running_job(const JobSpec& spec = a_spec()) {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j", spec));
  yard.obey("a");
  yard.tell("a", "worker/0", MetricEvent{40, 100, {{"loss", 1.0}}});
  REQUIRE(yard.job("j").state == JobState::running);
  return yard;
}

StopOrder order_for(Yard& yard, const std::string& task) {
  for (const WantedTask& wanted : yard.wanted.at(AgentId{"a"}).tasks) {
    if (task_name(wanted.task.key) == task) return wanted.stop;
  }
  FAIL("not wanted: " << task);
  return StopOrder::run;
}

bool all_told(Yard& yard, StopOrder order) {
  return order_for(yard, "worker/0") == order && order_for(yard, "worker/1") == order &&
         order_for(yard, "ps/0") == order;
}

void announce(Yard& yard, std::int64_t step, bool last) {
  const std::string name = std::to_string(step);
  yard.tell("a", "worker/0",
            ManifestEvent{step, {"m", 1, "m" + name}, {{"s", 1, "s" + name}}, {}, last});
}

void store(Yard& yard, std::int64_t step) {
  for (const char* file : {"m", "s"}) {
    yard.step(ArtifactStored{JobId{"j"}, file + std::to_string(step)});
  }
}

void end_all(Yard& yard) {
  for (const char* task : {"worker/0", "worker/1", "ps/0"}) {
    if (!is_terminal(yard.task("j", task).state)) yard.end("a", task, {{}, 15});
  }
}

}  // namespace

TEST_CASE("a suspension is told to the chief alone, until its checkpoint is committed",
          "[scheduler][mend-B4]") {
  Yard yard = running_job();
  REQUIRE(yard.act("j", JobAction::suspend));
  CHECK(yard.job("j").state == JobState::stopping);
  CHECK(yard.job("j").goal == JobState::suspended);
  CHECK(yard.job("j").reason == Reason::user_suspended);
  CHECK(yard.job("j").message == "saving before suspension");
  CHECK(order_for(yard, "worker/0") == StopOrder::save);
  CHECK(order_for(yard, "worker/1") == StopOrder::run);
  CHECK(order_for(yard, "ps/0") == StopOrder::run);

  announce(yard, 40, false);  // was under way: what was made since would be lost
  store(yard, 40);
  CHECK(order_for(yard, "worker/0") == StopOrder::save);
  announce(yard, 47, true);
  CHECK(order_for(yard, "worker/0") == StopOrder::save);  // not at the server yet
  store(yard, 47);
  CHECK(all_told(yard, StopOrder::stop));
  CHECK(yard.job("j").message == "suspended by the user, saved at step 47");

  end_all(yard);
  CHECK(yard.job("j").state == JobState::suspended);
  CHECK(yard.job("j").restarts == Restarts{});
  REQUIRE(yard.act("j", JobAction::resume));
  CHECK(yard.job("j").progress.step == 47);
}

TEST_CASE("save_seconds bounds the saving, also where a server restarts in between",
          "[scheduler][mend-B4]") {
  JobSpec spec = a_spec();
  spec.run_policy.save_seconds = 20;
  Yard yard = running_job(spec);
  REQUIRE(yard.act("j", JobAction::suspend));
  yard.pass(seconds(8));
  yard.speak("a");
  yard.restart();
  yard.speak("a");
  CHECK(order_for(yard, "worker/0") == StopOrder::save);
  CHECK(order_for(yard, "ps/0") == StopOrder::run);
  yard.pass(seconds(8));
  yard.speak("a");
  CHECK(order_for(yard, "worker/0") == StopOrder::save);
  yard.pass(seconds(4));
  CHECK(all_told(yard, StopOrder::stop));
  CHECK(yard.job("j").message == "suspended by the user, not saved within save_seconds (20)");
  end_all(yard);
  CHECK(yard.job("j").state == JobState::suspended);
}

TEST_CASE("a checkpoint that was under way at a restart of the server ends the saving",
          "[scheduler][mend-B4]") {
  Yard yard = running_job();
  REQUIRE(yard.act("j", JobAction::suspend));
  announce(yard, 47, true);
  yard.restart();
  yard.speak("a");
  CHECK(order_for(yard, "worker/0") == StopOrder::save);
  store(yard, 47);
  CHECK(all_told(yard, StopOrder::stop));
}

TEST_CASE("nothing is saved of a gang that starts, nor with save_seconds 0",
          "[scheduler][mend-B4]") {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j"));
  REQUIRE(yard.act("j", JobAction::suspend));
  CHECK(all_told(yard, StopOrder::stop));

  JobSpec spec = a_spec();
  spec.run_policy.save_seconds = 0;
  Yard other = running_job(spec);
  REQUIRE(other.act("j", JobAction::suspend));
  CHECK(all_told(other, StopOrder::stop));
  CHECK(other.job("j").message == "suspended by the user");
}

TEST_CASE("to suspend again while it saves changes nothing", "[scheduler][mend-B4]") {
  Yard yard = running_job();
  REQUIRE(yard.act("j", JobAction::suspend));
  const std::size_t past = yard.job("j").transitions.size();
  const std::int64_t generation = yard.wanted.at(AgentId{"a"}).generation;
  REQUIRE(yard.act("j", JobAction::suspend));
  CHECK(yard.job("j").transitions.size() == past);
  CHECK(yard.wanted.at(AgentId{"a"}).generation == generation);
  CHECK(order_for(yard, "worker/0") == StopOrder::save);
}

TEST_CASE("a cancel does not wait for what is saved", "[scheduler][mend-B4]") {
  Yard yard = running_job();
  REQUIRE(yard.act("j", JobAction::suspend));
  REQUIRE(yard.act("j", JobAction::cancel));
  CHECK(all_told(yard, StopOrder::stop));
  end_all(yard);
  CHECK(yard.job("j").state == JobState::cancelled);

  Yard other = running_job();
  REQUIRE(other.act("j", JobAction::cancel));
  CHECK(all_told(other, StopOrder::stop));
}

TEST_CASE("a job that is resumed while it saves goes on from what it saved",
          "[scheduler][mend-B4]") {
  Yard yard = running_job();
  REQUIRE(yard.act("j", JobAction::suspend));
  REQUIRE(yard.act("j", JobAction::resume));
  CHECK(order_for(yard, "worker/0") == StopOrder::save);
  SECTION("and suspended again before that") {
    REQUIRE(yard.act("j", JobAction::suspend));
    CHECK(yard.job("j").message == "saving before suspension");
    CHECK(order_for(yard, "worker/0") == StopOrder::save);
  }
  const bool sleeps = yard.job("j").goal == JobState::suspended;
  announce(yard, 47, true);
  store(yard, 47);
  end_all(yard);
  CHECK(yard.job("j").state == (sleeps ? JobState::suspended : JobState::starting));
  if (sleeps) REQUIRE(yard.act("j", JobAction::resume));
  CHECK(yard.job("j").progress.step == 47);
  CHECK(yard.job("j").restarts == Restarts{});
}

TEST_CASE("a task that ends while the chief saves ends the saving, and costs no restart",
          "[scheduler][mend-B4]") {
  const std::string task = GENERATE("worker/0", "worker/1", "ps/0");
  Yard yard = running_job();
  REQUIRE(yard.act("j", JobAction::suspend));
  yard.end("a", task, {{}, 9});
  for (const WantedTask& wanted : yard.wanted.at(AgentId{"a"}).tasks) {
    CHECK(wanted.stop == StopOrder::stop);
  }
  CHECK(yard.job("j").message == "suspended by the user, " + task + " ended before it was saved");
  end_all(yard);
  CHECK(yard.job("j").state == JobState::suspended);
  CHECK(yard.job("j").restarts == Restarts{});
}

TEST_CASE("a job whose training ends while it is to save succeeds", "[scheduler][mend-B4]") {
  Yard yard = running_job();
  REQUIRE(yard.act("j", JobAction::suspend));
  yard.tell("a", "worker/0", MetricEvent{100, 100, {{"loss", 1.0}}});
  announce(yard, 100, true);
  store(yard, 100);
  CHECK(order_for(yard, "worker/0") == StopOrder::save);  // about to end by itself
  for (const char* task : {"worker/0", "worker/1", "ps/0"}) yard.end("a", task, {0, {}});
  CHECK(yard.job("j").state == JobState::succeeded);
}

TEST_CASE("an agent that is lost while the chief saves does not keep the job from its rest",
          "[scheduler][mend-B4]") {
  JobSpec spec = a_spec();
  spec.run_policy.save_seconds = 1000;
  Yard yard = running_job(spec);
  REQUIRE(yard.act("j", JobAction::suspend));
  yard.pass(seconds(90));
  CHECK(yard.job("j").state == JobState::suspended);
  CHECK(yard.job("j").restarts == Restarts{});
}

TEST_CASE("a drained agent's gang saves first, and begins again on another", "[scheduler][drain]") {
  Yard yard = running_job();
  yard.join("b");
  REQUIRE(yard.step(DrainAgent{AgentId{"a"}}).outcome);
  CHECK(yard.agents.at(AgentId{"a"}).cordoned);
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::draining);
  CHECK(yard.job("j").state == JobState::stopping);
  CHECK(yard.job("j").goal == JobState::queued);
  CHECK(yard.job("j").reason == Reason::agent_drained);
  CHECK(order_for(yard, "worker/0") == StopOrder::save);
  CHECK(order_for(yard, "ps/0") == StopOrder::run);
  REQUIRE(yard.step(DrainAgent{AgentId{"a"}}).outcome);  // again: nothing more
  CHECK(order_for(yard, "worker/0") == StopOrder::save);

  announce(yard, 47, true);
  store(yard, 47);
  CHECK(all_told(yard, StopOrder::stop));
  CHECK(yard.job("j").message == "agent a is drained, saved at step 47");
  end_all(yard);
  yard.pass(Millis{100});
  CHECK(yard.job("j").state == JobState::starting);  // at once: it waits for no backoff
  CHECK(yard.job("j").attempt == 2);
  CHECK(yard.job("j").progress.step == 47);
  CHECK(yard.job("j").restarts == Restarts{});
  CHECK(yard.task("j", "worker/0").agent == AgentId{"b"});
  yard.speak("a");
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::cordoned);
  yard.step(SetCordon{AgentId{"a"}, false});
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::ready);
}

TEST_CASE("draining outlives a restart of the server", "[scheduler][drain]") {
  Yard yard = running_job();
  yard.join("b");
  REQUIRE(yard.step(DrainAgent{AgentId{"a"}}).outcome);
  yard.restart();
  yard.speak("a");
  yard.speak("b");
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::draining);
  CHECK(order_for(yard, "worker/0") == StopOrder::save);
  announce(yard, 47, true);
  store(yard, 47);
  end_all(yard);
  yard.pass(Millis{100});
  CHECK(yard.task("j", "worker/0").agent == AgentId{"b"});
  CHECK(yard.job("j").restarts == Restarts{});
}

TEST_CASE("a user who suspends or cancels while an agent is drained is heard",
          "[scheduler][drain]") {
  Yard yard = running_job();
  REQUIRE(yard.step(DrainAgent{AgentId{"a"}}).outcome);
  REQUIRE(yard.act("j", JobAction::suspend));
  CHECK(yard.job("j").goal == JobState::suspended);
  CHECK(order_for(yard, "worker/0") == StopOrder::save);
  REQUIRE(yard.act("j", JobAction::cancel));
  CHECK(all_told(yard, StopOrder::stop));
  end_all(yard);
  CHECK(yard.job("j").state == JobState::cancelled);
}

TEST_CASE("a drained agent with nothing, or with what has nothing to save", "[scheduler][drain]") {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j"));  // starting
  REQUIRE(yard.step(DrainAgent{AgentId{"a"}}).outcome);
  CHECK(all_told(yard, StopOrder::stop));
  yard.obey("a");
  end_all(yard);
  CHECK(yard.job("j").state == JobState::queued);
  CHECK(yard.job("j").restarts == Restarts{});
  yard.speak("a");
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::cordoned);
  CHECK(yard.step(DrainAgent{AgentId{"none"}}).outcome.error().code == Code::not_found);
  REQUIRE(yard.act("j", JobAction::cancel));
  yard.join("idle");
  REQUIRE(yard.step(DrainAgent{AgentId{"idle"}}).outcome);
  CHECK(yard.agents.at(AgentId{"idle"}).state == AgentState::cordoned);
}

TEST_CASE("a gang moves whose chief is on another agent than the drained one",
          "[scheduler][drain]") {
  Yard yard;
  yard.join("a", {2, 16'000, 2});
  yard.join("b", {1, 16'000, 2});
  JobSpec spec = a_spec();
  spec.run_policy.save_seconds = 5;
  REQUIRE(yard.submit("j", spec));
  for (const char* agent : {"a", "b"}) yard.obey(agent);
  const AgentId chiefs = yard.task("j", "worker/0").agent;
  const std::string other = chiefs.text == "a" ? "b" : "a";
  yard.tell(chiefs.text, "worker/0", MetricEvent{40, 100, {{"loss", 1.0}}});
  REQUIRE(yard.step(DrainAgent{AgentId{other}}).outcome);
  const auto order_of = [&](const AgentId& agent) {
    std::set<StopOrder> orders;
    for (const WantedTask& wanted : yard.wanted.at(agent).tasks) orders.insert(wanted.stop);
    return orders;
  };
  CHECK(order_of(chiefs).contains(StopOrder::save));
  CHECK(order_of(AgentId{other}) == std::set{StopOrder::run});
  CHECK(yard.agents.at(AgentId{other}).state == AgentState::draining);
  CHECK(yard.agents.at(chiefs).state == AgentState::ready);

  yard.pass(seconds(6));
  CHECK(order_of(chiefs) == std::set{StopOrder::stop});
  CHECK(yard.job("j").reason == Reason::agent_drained);
  CHECK_THAT(yard.job("j").message,
             Catch::Matchers::StartsWith("agent " + other + " is drained, not saved within"));
}

TEST_CASE("an agent that is used again in the middle of its draining is ready",
          "[scheduler][drain]") {
  Yard yard = running_job();
  REQUIRE(yard.step(DrainAgent{AgentId{"a"}}).outcome);
  REQUIRE(yard.step(SetCordon{AgentId{"a"}, false}).outcome);
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::ready);
  announce(yard, 47, true);
  store(yard, 47);
  end_all(yard);
  yard.pass(Millis{100});
  CHECK(yard.task("j", "worker/0").agent == AgentId{"a"});
  CHECK(yard.job("j").attempt == 2);
}

TEST_CASE("an agent that was asked to end is not made ready by an order", "[scheduler][drain]") {
  Yard yard = running_job();
  REQUIRE(yard.step(DrainAgent{AgentId{"a"}}).outcome);
  yard.report_of("a").leaving = true;
  yard.speak("a");
  REQUIRE(yard.step(SetCordon{AgentId{"a"}, false}).outcome);
  CHECK(yard.agents.at(AgentId{"a"}).state == AgentState::draining);
}

TEST_CASE("a task that ends while its gang saves for a move is no failure", "[scheduler][drain]") {
  Yard yard = running_job();
  yard.join("b");
  REQUIRE(yard.step(DrainAgent{AgentId{"a"}}).outcome);
  yard.end("a", "worker/1", {3, {}});
  CHECK(yard.job("j").message == "agent a is drained, worker/1 ended before it was saved");
  end_all(yard);
  yard.pass(Millis{100});
  CHECK(yard.task("j", "worker/0").agent == AgentId{"b"});
  CHECK(yard.job("j").restarts == Restarts{});
  CHECK_FALSE(yard.job("j").first_failure);
}

TEST_CASE("a suspension goes on over a new start of the agent that has found its tasks",
          "[scheduler]") {
  Yard yard = running_job();
  REQUIRE(yard.act("j", JobAction::suspend));
  AgentReport& found = yard.report_of("a");
  found.epoch += 1;
  found.number = 1;
  found.generation = 0;
  if (GENERATE(false, true)) yard.restart();  // the server, too
  yard.step(found);

  CHECK(yard.job("j").state == JobState::stopping);
  CHECK(order_for(yard, "worker/0") == StopOrder::save);
  announce(yard, 41, true);
  store(yard, 41);
  CHECK(all_told(yard, StopOrder::stop));
  end_all(yard);
  CHECK(yard.job("j").state == JobState::suspended);
  CHECK(yard.job("j").restarts == Restarts{0, 0});
}

TEST_CASE("a job that stops goes on stopping over a new start of its agent", "[scheduler]") {
  Yard yard = running_job();
  REQUIRE(yard.act("j", JobAction::cancel));
  AgentReport& found = yard.report_of("a");
  found.epoch += 1;
  found.number = 1;
  found.generation = 0;
  SECTION("which has found all") {
    yard.step(found);
    CHECK(yard.job("j").state == JobState::stopping);
    CHECK(all_told(yard, StopOrder::stop));
    end_all(yard);
  }
  SECTION("which has found none") {
    found.tasks.clear();
    yard.step(found);
  }
  CHECK(yard.job("j").state == JobState::cancelled);
}

}  // namespace trainyard::scheduler
