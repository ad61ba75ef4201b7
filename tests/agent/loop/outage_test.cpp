// What the agent does when its server is not there, and when it merely does not answer.
#include <signal.h>

#include <catch2/catch.hpp>

#include "agent/process/process_table.h"
#include "tests/agent/loop/yard.h"
#include "tests/support/waiting.h"

namespace trainyard::agent {
namespace {

// Longer than the lease of these tests, shorter than anybody's patience.
constexpr Millis lease{1200};
constexpr const char* ticking_script =
    "phase running; i=0; while :; do metric $i; i=$((i+1)); echo $i > ticks; sleep 0.02; done";

int ticks(const std::string& folder) {
  int count = 0;
  std::istringstream(content_of(folder + "/ticks")) >> count;
  return count;
}

}  // namespace

TEST_CASE("a server that is down longer than the lease ends nothing and loses nothing", "[agent]") {
  Yard yard(ticking_script);
  yard.server.set_stop_after(lease);
  const TaskKey key = a_wanted_task("j-1").task.key;
  yard.server.want(a_wanted_task("j-1"));
  const auto running = yard.server.wait_for_task(key, is_running_state);
  REQUIRE(running);

  yard.server.close();
  const int before = ticks(yard.task_folder(key));
  // 180 ticks of 20 ms and more: three leases
  REQUIRE(eventually([&] { return ticks(yard.task_folder(key)) > before + 180; }));
  const int during = ticks(yard.task_folder(key));
  yard.server.open();

  const auto after = yard.server.wait_for_task(key, [&](const TaskReport& task) {
    return !task.events.empty() && std::holds_alternative<MetricEvent>(task.events.back().what) &&
           std::get<MetricEvent>(task.events.back().what).step > during;
  });
  REQUIRE(after);
  CHECK(after->pid == running->pid);
  std::int64_t expected = 0;
  for (const RunEvent& event : yard.server.events_of(key)) {
    const auto* metric = std::get_if<MetricEvent>(&event.what);
    if (metric != nullptr && metric->step != expected++) FAIL("a step is missing or doubled");
  }
  CHECK(expected > during);
}

TEST_CASE("a server that does not answer any more ends the tasks when the lease is over",
          "[agent]") {
  Yard yard(ticking_script);
  yard.server.set_stop_after(lease);
  const TaskKey key = a_wanted_task("j-1").task.key;
  yard.server.want(a_wanted_task("j-1"));
  const auto running = yard.server.wait_for_task(key, is_running_state);
  REQUIRE(running);

  yard.server.set_answers(ServerDouble::Answers::none);

  CHECK(eventually([&] { return running_in_group(running->pid).empty(); }));
  yard.server.set_answers(ServerDouble::Answers::all);
  const auto end = yard.server.wait_for_end(key);
  REQUIRE(end);
  CHECK(end->exit.signal == SIGKILL);
}

TEST_CASE("a task that ends while the server is down is reported when it is back", "[agent]") {
  Yard yard("phase running; while ! [ -e go ]; do sleep 0.01; done; shard 1 weights; exit 4");
  const TaskKey key = a_wanted_task("j-1", Role::ps).task.key;
  yard.server.want(a_wanted_task("j-1", Role::ps));
  const auto running = yard.server.wait_for_task(key, is_running_state);
  REQUIRE(running);

  yard.server.close();
  write_content(yard.task_folder(key) + "/go", "");
  REQUIRE(eventually([&] { return !find_process(running->pid).has_value(); }));
  yard.server.open();

  const auto end = yard.server.wait_for_end(key);
  REQUIRE(end);
  CHECK(end->exit.code == 4);
  CHECK(yard.server.events_of(key).size() == 2);
}

TEST_CASE("a task that is wanted and stopped before its checkpoint can be had never starts",
          "[agent]") {
  Yard yard("exit 0");
  yard.server.set_stop_after(seconds(60));
  REQUIRE(yard.server.wait_for_report([](const AgentReport&) { return true; }));
  WantedTask wanted = a_wanted_task("j-1", Role::ps);
  Checkpoint checkpoint;
  checkpoint.job = JobId{"j-1"};
  checkpoint.state = CheckpointState::committed;
  checkpoint.manifest = {.name = "m", .bytes = 1, .sha256 = std::string(64, 'b')};
  wanted.restore = checkpoint;
  yard.server.want(wanted);

  yard.server.stop_wanting(wanted.task.key);

  CHECK(yard.server.wait_until_forgotten(wanted.task.key));
  CHECK(yard.server.log_of(wanted.task.key).empty());
}

}  // namespace trainyard::agent
