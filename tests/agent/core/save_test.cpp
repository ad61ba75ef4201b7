// The order to save: passed on once, to who is there to hear it.
#include <algorithm>
#include <catch2/catch.hpp>

#include "agent/core/agent.h"

namespace trainyard::agent {
namespace {

const TaskKey key{JobId{"j"}, 1, Role::worker, 0};
const Now now{Time{0}, WallTime{1'700'000'000'000}};

struct Yard {
  Agent agent{{AgentId{"a"}, "i", 3, {}}, Time{0}};
  std::int64_t generation = 0;

  std::vector<Action> want(StopOrder order) {
    const AgentReport report = agent.next_report();
    agent.step(ReportSent{report.number}, now);
    WantedTask task;
    task.task.key = key;
    task.stop = order;
    return agent.step(AssignmentArrived{{.agent = AgentId{"a"},
                                         .instance = "i",
                                         .epoch = 3,
                                         .generation = ++generation,
                                         .answers = report.number,
                                         .tasks = {task}}},
                      now);
  }
};

template <class Kind>
std::int64_t count(const std::vector<Action>& actions) {
  return std::ranges::count_if(
      actions, [](const Action& action) { return std::holds_alternative<Kind>(action); });
}

}  // namespace

TEST_CASE("the order to save is passed on once, to who has a process and to who has none yet",
          "[agent][mend-B4]") {
  Yard yard;
  SECTION("it runs") {
    yard.want(StopOrder::run);
    yard.agent.step(TaskStarted{key, 7, now.wall}, now);
    CHECK(count<SaveTask>(yard.want(StopOrder::run)) == 0);
    CHECK(count<SaveTask>(yard.want(StopOrder::save)) == 1);
  }
  SECTION("it is being prepared") {
    yard.want(StopOrder::run);
    CHECK(count<SaveTask>(yard.want(StopOrder::save)) == 1);
  }
  SECTION("it was never heard of") {
    const auto actions = yard.want(StopOrder::save);
    CHECK(count<StartTask>(actions) == 1);
    CHECK(count<SaveTask>(actions) == 1);
  }
  const auto again = yard.want(StopOrder::save);
  CHECK(count<SaveTask>(again) == 0);
  CHECK(count<StopTask>(again) == 0);
  CHECK(count<StopTask>(yard.want(StopOrder::stop)) == 1);
}

TEST_CASE("who is gone is not told to save", "[agent][mend-B4]") {
  Yard yard;
  yard.want(StopOrder::run);
  yard.agent.step(TaskStarted{key, 7, now.wall}, now);
  yard.agent.step(TaskExited{key, {1, {}}, Reason::none, "", now.wall}, now);
  CHECK(count<SaveTask>(yard.want(StopOrder::save)) == 0);
}

}  // namespace trainyard::agent
