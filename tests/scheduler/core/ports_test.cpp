// Which ports tasks are given.
#include <catch2/catch.hpp>
#include <set>

#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

// All that the job's tasks hold now.
std::set<int> ports_of(Yard& yard, const std::string& id) {
  std::set<int> ports;
  for (const auto& [key, row] : yard.tasks) {
    if (key.job.text != id || key.attempt != yard.job(id).attempt) continue;
    if (row.port != 0) ports.insert(row.port);
    if (row.rows_port != 0) ports.insert(row.rows_port);
  }
  return ports;
}

void fail_to_start(Yard& yard, const std::string& task, Reason reason) {
  TaskReport& report = yard.shown("a", task);
  report.state = TaskState::failed;
  report.reason = reason;
  report.message = "another program holds port 20001";
  yard.speak("a");
}

// While the agent goes on to report.
void wait(Yard& yard, int count) {
  for (int i = 0; i < count; ++i) {
    yard.pass(seconds(1));
    yard.speak("a");
  }
}

void end_all(Yard& yard) {
  for (const char* task : {"worker/0", "worker/1", "ps/0"}) {
    if (!is_terminal(yard.task("j", task).state)) yard.end("a", task, {{}, 15});
  }
}

}  // namespace

TEST_CASE("whoever serves parameters is given two ports, whoever calls one",
          "[scheduler][mend-B1]") {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j"));
  CHECK(yard.task("j", "ps/0").port == 20'000);
  CHECK(yard.task("j", "ps/0").rows_port == 20'001);
  CHECK(yard.task("j", "worker/0").rows_port == 0);

  JobSpec spec = a_spec();
  spec.ps.replicas = 0;
  spec.training.strategy = Strategy::all_reduce;
  yard.join("b");
  REQUIRE(yard.act("j", JobAction::cancel));
  REQUIRE(yard.submit("k", spec));
  CHECK(yard.task("k", "worker/0").rows_port != 0);
  CHECK(ports_of(yard, "k").size() == 4);
}

TEST_CASE("a gang needs as many ports as its tasks are given", "[scheduler][mend-B1]") {
  for (const int last : {20'002, 20'003}) {
    Yard yard;
    yard.join("a");
    yard.report_of("a").host.last_port = last;
    yard.report_of("a").epoch += 1;
    yard.report_of("a").generation = 0;
    yard.speak("a");
    const bool enough = last == 20'003;  // 2 of the ps and 1 of each worker
    CHECK(yard.submit("j").has_value() == enough);
  }
}

TEST_CASE("who needs fewer ports is not held up by who needs more", "[scheduler][mend-B1]") {
  Yard yard;
  yard.join("a");
  yard.report_of("a").host.last_port = 20'001;
  yard.report_of("a").epoch += 1;
  yard.report_of("a").generation = 0;
  yard.speak("a");
  JobSpec two_ports = a_spec();
  two_ports.ps.replicas = 0;
  two_ports.worker.replicas = 2;
  two_ports.training.strategy = Strategy::all_reduce;
  JobSpec one_port = two_ports;  // as a job that is alike but for that
  one_port.training.strategy = Strategy::local;
  yard.join("b");  // could hold both, but takes nothing now
  yard.step(SetCordon{AgentId{"b"}, true});
  REQUIRE(yard.submit("j", two_ports));
  REQUIRE(yard.submit("k", one_port));
  CHECK(yard.job("j").state == JobState::queued);
  CHECK(yard.job("k").state == JobState::starting);
}

TEST_CASE("a port that another program holds is not given again at once", "[scheduler][mend-B1]") {
  Yard yard;  // 10 ports, of which a gang takes 4
  yard.join("a");
  REQUIRE(yard.submit("j"));
  const std::set<int> held{20'000, 20'001};
  yard.obey("a");
  fail_to_start(yard, "ps/0", Reason::port_in_use);
  CHECK(yard.job("j").first_failure->reason == Reason::port_in_use);
  end_all(yard);
  CHECK(yard.job("j").restarts == Restarts{0, 1});

  for (int attempt = 2; attempt < 6; ++attempt) {
    wait(yard, 40);
    REQUIRE(yard.job("j").attempt == attempt);
    for (const int port : ports_of(yard, "j")) CHECK_FALSE(held.contains(port));
    yard.obey("a");
    yard.end("a", "worker/1", {{}, 9});
    end_all(yard);
  }
  wait(yard, 600);  // after a while it is one of all again
  std::set<int> given = ports_of(yard, "j");
  for (int attempt = 0; attempt < 2; ++attempt) {
    yard.obey("a");
    yard.end("a", "worker/1", {{}, 9});
    end_all(yard);
    wait(yard, 70);
    given.merge(ports_of(yard, "j"));
  }
  CHECK(given.contains(20'000));
}

TEST_CASE("a full disk counts as the user's restarts do, and is of class INFRA",
          "[scheduler][mend-B3]") {
  CHECK(class_of(Reason::no_space) == ReasonClass::infra);
  Yard yard;
  yard.join("a");
  JobSpec spec = a_spec();
  spec.run_policy.max_restarts = 1;
  REQUIRE(yard.submit("j", spec));
  for (int attempt = 1; attempt <= 2; ++attempt) {
    REQUIRE(yard.job("j").attempt == attempt);
    yard.obey("a");
    yard.tell("a", "ps/0", FailureEvent{"NO_SPACE", "cannot write /work/x: no space is left"});
    yard.end("a", "ps/0", {28, {}});
    end_all(yard);
    wait(yard, 60);
  }
  CHECK(yard.job("j").state == JobState::failed);
  CHECK(yard.job("j").reason == Reason::restarts_exhausted);
  CHECK(yard.job("j").restarts == Restarts{1, 0});
  CHECK_THAT(yard.job("j").message, Catch::Contains("NO_SPACE") && Catch::Contains("/work/x"));
}

}  // namespace trainyard::scheduler
