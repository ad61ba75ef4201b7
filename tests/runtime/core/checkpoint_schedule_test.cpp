// When checkpoints are due, by a clock that the test sets.
#include "runtime/core/checkpoint_schedule.h"

#include <catch2/catch.hpp>
#include <vector>

namespace trainyard::runtime {

namespace {

constexpr Time begin;

// The steps from `first` to `last` that are due, each made as soon as it is asked for.
std::vector<std::int64_t> due_steps(CheckpointSchedule& schedule, std::int64_t first,
                                    std::int64_t last) {
  std::vector<std::int64_t> due;
  for (std::int64_t step = first; step <= last; ++step) {
    if (!schedule.is_due(step, false, begin)) continue;
    schedule.ask(step, false, begin);
    schedule.begin();
    due.push_back(step);
  }
  return due;
}

}  // namespace

TEST_CASE("a multiple lies in a range that includes its end and not its begin", "[checkpoints]") {
  CHECK(crosses(9, 10, 10));
  CHECK_FALSE(crosses(10, 19, 10));
  CHECK(crosses(10, 20, 10));
  CHECK(crosses(0, 35, 10));
  CHECK_FALSE(crosses(0, 35, 0));
}

TEST_CASE("checkpoints come every so many steps, but the last step's", "[checkpoints]") {
  CheckpointSchedule schedule({.every_steps = 10, .last_step = 30}, 0, begin);
  CHECK(due_steps(schedule, 1, 30) == std::vector<std::int64_t>{10, 20});

  SECTION("from where training goes on") {
    CheckpointSchedule resumed({.every_steps = 10, .last_step = 40}, 20, begin);
    CHECK(due_steps(resumed, 21, 40) == std::vector<std::int64_t>{30});
  }
  SECTION("none at all") {
    CheckpointSchedule never({.every_steps = 0, .last_step = 40}, 0, begin);
    CHECK(due_steps(never, 1, 40).empty());
  }
}

TEST_CASE("steps that this task does not see make theirs due later", "[checkpoints]") {
  CheckpointSchedule schedule({.every_steps = 10, .last_step = 100}, 0, begin);
  CHECK_FALSE(schedule.is_due(8, false, begin));
  CHECK(schedule.is_due(13, false, begin));
  schedule.ask(13, false, begin);
  schedule.begin();
  CHECK_FALSE(schedule.is_due(19, false, begin));
  CHECK(schedule.is_due(20, false, begin));
}

TEST_CASE("checkpoints come every so many seconds", "[checkpoints]") {
  CheckpointSchedule schedule({.every = seconds(60), .last_step = 100}, 0, begin);
  CHECK_FALSE(schedule.is_due(1, false, begin + seconds(59)));
  CHECK(schedule.is_due(1, false, begin + seconds(60)));
  schedule.ask(1, false, begin + seconds(70));
  schedule.begin();
  CHECK_FALSE(schedule.is_due(2, false, begin + seconds(129)));
  CHECK(schedule.is_due(2, false, begin + seconds(130)));
  CHECK_FALSE(schedule.is_due(1, false, begin + seconds(130)));  // it has one
}

TEST_CASE("while one is still to be made none is due", "[checkpoints]") {
  CheckpointSchedule schedule({.every_steps = 10, .last_step = 100}, 0, begin);
  CHECK(schedule.asked_by(100) == 0);
  schedule.ask(10, false, begin);
  CHECK(schedule.asked_by(9) == 0);
  CHECK(schedule.asked_by(10) == 10);
  CHECK(schedule.asked_by(11) == 10);
  CHECK_FALSE(schedule.is_due(20, false, begin));
  CHECK_FALSE(schedule.is_due(20, true, begin));

  schedule.begin();
  CHECK(schedule.asked_by(11) == 0);
  CHECK(schedule.is_due(20, false, begin));
  CHECK_FALSE(schedule.is_ordered(10));
}

TEST_CASE("one that is ordered is due at once, and nothing is due after it", "[checkpoints]") {
  CheckpointSchedule schedule({.every_steps = 10, .every = seconds(60), .last_step = 100}, 5,
                              begin);
  CHECK_FALSE(schedule.is_due(5, true, begin));  // it has one
  CHECK(schedule.is_due(6, true, begin));
  CHECK_FALSE(schedule.is_due(100, true, begin));  // the end is saved anyway
  CHECK_FALSE(schedule.is_ordered(6));
  schedule.ask(6, true, begin);
  CHECK(schedule.is_ordered(6));
  CHECK_FALSE(schedule.is_ordered(7));
  schedule.begin();
  CHECK_FALSE(schedule.is_due(7, true, begin));
  CHECK_FALSE(schedule.is_due(20, false, begin + seconds(600)));
}

}  // namespace trainyard::runtime
