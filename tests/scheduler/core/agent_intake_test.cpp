// Who is let in as an agent, and who is forgotten again.
#include <catch2/catch.hpp>

#include "scheduler/core/registrations.h"
#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

std::vector<std::string> names_of(const Yard& yard) {
  std::vector<std::string> names;
  for (const AgentView& view : yard.cluster.agents(yard.now)) names.push_back(view.record.id.text);
  return names;
}

AgentReport first_report(const std::string& name) {
  AgentReport report;
  report.agent = AgentId{name};
  report.instance = name + "-folder";
  report.epoch = report.number = 1;
  report.host.address = name + ".example";
  report.host.capacity = {1, 1000, 0};
  report.host.first_port = report.host.last_port = 20'000;
  return report;
}

Outcome forget(Yard& yard, const std::string& name) {
  return yard.step(ForgetAgent{AgentId{name}}).outcome;
}

}  // namespace

TEST_CASE("no more agents are known than may be; those that are go on", "[scheduler][mend-A2]") {
  Limits limits;
  limits.agents_max = 2;
  Yard yard(limits);
  yard.join("a");
  yard.join("b");

  const Step step = yard.step(first_report("c"));

  REQUIRE(step.refuse.size() == 1);
  CHECK(step.refuse[0].agent == AgentId{"c"});
  CHECK(step.refuse[0].code == Code::unavailable);
  CHECK(step.refuse[0].why.find("knows 2 agents already") != std::string::npos);
  CHECK(step.save.empty());
  CHECK(names_of(yard) == std::vector<std::string>{"a", "b"});
  yard.join("a");  // a new start of one that is known
  CHECK(yard.agents.at(AgentId{"a"}).epoch == 2);

  yard.pass(seconds(90));
  yard.speak("b");
  REQUIRE(forget(yard, "a"));
  CHECK(yard.step(first_report("c")).refuse.empty());
  CHECK(names_of(yard) == std::vector<std::string>{"b", "c"});
}

TEST_CASE("an agent is forgotten once it is down, and not before", "[scheduler][mend-A2]") {
  Yard yard;
  yard.join("a");
  CHECK(forget(yard, "nobody").error().code == Code::not_found);
  CHECK(forget(yard, "a").error().code == Code::conflict);
  CHECK(forget(yard, "a").error().message.find("it is ready") != std::string::npos);
  yard.pass(seconds(10));
  CHECK(forget(yard, "a").error().message.find("it is disconnected") != std::string::npos);
  yard.pass(seconds(80));

  REQUIRE(forget(yard, "a"));

  CHECK(names_of(yard).empty());
  CHECK(yard.agents.empty());  // its row is gone, too
  yard.restart();
  CHECK(names_of(yard).empty());
  yard.speak("a");  // it comes back after all, as one that is new
  CHECK(names_of(yard) == std::vector<std::string>{"a"});
}

TEST_CASE("a job keeps what it knows of a task whose agent is forgotten", "[scheduler][mend-A2]") {
  Yard yard;
  yard.join("a", {2, 16'000, 0});
  yard.join("b", {1, 16'000, 0});
  REQUIRE(yard.submit("j"));  // one ps and two workers
  yard.obey("a");
  yard.obey("b");
  REQUIRE(yard.job("j").state == JobState::running);
  REQUIRE(yard.act("j", JobAction::suspend));
  std::vector<std::string> on_a;
  std::string on_b;
  for (const auto& [key, row] : yard.tasks) {
    if (row.agent == AgentId{"a"}) on_a.push_back(task_name(key));
    if (row.agent == AgentId{"b"}) on_b = task_name(key);
  }
  yard.end("b", on_b, {.code = std::nullopt, .signal = 15});
  for (int i = 0; i < 9; ++i) {  // b is silent, a goes on
    yard.pass(seconds(10));
    yard.speak("a");
  }
  REQUIRE(yard.agents.at(AgentId{"b"}).state == AgentState::down);
  REQUIRE(forget(yard, "b"));

  yard.restart();
  for (const std::string& name : on_a) {
    yard.end("a", name, {.code = std::nullopt, .signal = 15});
  }

  CHECK(yard.job("j").state == JobState::suspended);
  CHECK(yard.task("j", on_b).agent == AgentId{"b"});
}

TEST_CASE("so many new agents in a minute, of one address and in all", "[scheduler][mend-A2]") {
  Registrations registrations({.per_minute = 5, .per_minute_of_address = 3});
  Time now{1000};
  for (int i = 0; i < 3; ++i) CHECK(registrations.admit("ipv4:10.0.0.1", now));
  const Status fourth = registrations.admit("ipv4:10.0.0.1", now);
  REQUIRE_FALSE(fourth);
  CHECK(fourth.error().code == Code::unavailable);
  CHECK(fourth.error().message.find("from ipv4:10.0.0.1 3 new agents") == 0);

  now = now + seconds(30);
  CHECK(registrations.admit("ipv4:10.0.0.2", now));
  CHECK(registrations.admit("ipv4:10.0.0.2", now));
  CHECK_FALSE(registrations.admit("ipv4:10.0.0.3", now));

  now = now + seconds(30);  // the first three are a minute old
  CHECK(registrations.admit("ipv4:10.0.0.3", now));
  CHECK(registrations.admit("ipv4:10.0.0.1", now));
  CHECK(registrations.admit("ipv4:10.0.0.1", now));
  CHECK_FALSE(registrations.admit("ipv4:10.0.0.1", now));
}

}  // namespace trainyard::scheduler
