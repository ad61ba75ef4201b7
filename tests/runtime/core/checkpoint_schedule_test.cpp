// When checkpoints are due, by a clock that the test sets.
#include "runtime/core/checkpoint_schedule.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

namespace trainyard::runtime {

namespace {

constexpr Time begin;
constexpr std::int64_t most_steps = std::numeric_limits<std::int64_t>::max();

// The steps from `first` to `last` that are due, each made as soon as it is asked for.
std::vector<std::int64_t> due_steps(CheckpointSchedule& schedule, std::int64_t first,
                                    std::int64_t last) {
  std::vector<std::int64_t> due;
  for (std::int64_t step = first; step <= last; ++step) {
    if (!schedule.is_due({.step = step, .now = begin})) continue;
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
  CHECK_FALSE(schedule.is_due({.step = 8, .now = begin}));
  CHECK(schedule.is_due({.step = 13, .now = begin}));
  schedule.ask(13, false, begin);
  schedule.begin();
  CHECK_FALSE(schedule.is_due({.step = 19, .now = begin}));
  CHECK(schedule.is_due({.step = 20, .now = begin}));
}

TEST_CASE("checkpoints come every so many seconds", "[checkpoints]") {
  CheckpointSchedule schedule({.every = seconds(60), .last_step = 100}, 0, begin);
  CHECK_FALSE(schedule.is_due({.step = 1, .now = begin + seconds(59)}));
  CHECK(schedule.is_due({.step = 1, .now = begin + seconds(60)}));
  schedule.ask(1, false, begin + seconds(70));
  schedule.begin();
  CHECK_FALSE(schedule.is_due({.step = 2, .now = begin + seconds(129)}));
  CHECK(schedule.is_due({.step = 2, .now = begin + seconds(130)}));
  CHECK_FALSE(schedule.is_due({.step = 1, .now = begin + seconds(130)}));  // it has one
}

TEST_CASE("while one is still to be made none is due", "[checkpoints]") {
  CheckpointSchedule schedule({.every_steps = 10, .last_step = 100}, 0, begin);
  CHECK(schedule.asked_by(100) == 0);
  schedule.ask(10, false, begin);
  CHECK(schedule.asked_by(9) == 0);
  CHECK(schedule.asked_by(10) == 10);
  CHECK(schedule.asked_by(11) == 10);
  CHECK_FALSE(schedule.is_due({.step = 20, .now = begin}));
  CHECK_FALSE(schedule.is_due({.step = 20, .ordered = true, .now = begin}));

  schedule.begin();
  CHECK(schedule.asked_by(11) == 0);
  CHECK(schedule.is_due({.step = 20, .now = begin}));
  CHECK_FALSE(schedule.is_ordered(10));
}

TEST_CASE("one that is ordered is due at once, and nothing is due after it", "[checkpoints]") {
  CheckpointSchedule schedule({.every_steps = 10, .every = seconds(60), .last_step = 100}, 5,
                              begin);
  CHECK_FALSE(schedule.is_due({.step = 5, .ordered = true, .now = begin}));  // it has one
  CHECK(schedule.is_due({.step = 6, .ordered = true, .now = begin}));
  CHECK_FALSE(
      schedule.is_due({.step = 100, .ordered = true, .now = begin}));  // the end is saved anyway
  CHECK_FALSE(schedule.is_ordered(6));
  schedule.ask(6, true, begin);
  CHECK(schedule.is_ordered(6));
  CHECK_FALSE(schedule.is_ordered(7));
  schedule.begin();
  CHECK_FALSE(schedule.is_due({.step = 7, .ordered = true, .now = begin}));
  CHECK_FALSE(schedule.is_due({.step = 20, .now = begin + seconds(600)}));
}

TEST_CASE("up to eight checkpoints that wait change nothing", "[checkpoints]") {
  const std::int64_t waiting = GENERATE(as<std::int64_t>{}, 0, 1, 7, 8);
  CheckpointSchedule schedule({.every_steps = 10, .every = seconds(60), .last_step = 100}, 0,
                              begin);
  const auto is_due = [&](std::int64_t step, Time now) {
    return schedule.is_due({.step = step, .now = now, .waiting = waiting});
  };
  CHECK_FALSE(is_due(9, begin));
  CHECK(is_due(10, begin));
  CHECK_FALSE(is_due(1, begin + Millis{59'999}));
  CHECK(is_due(1, begin + seconds(60)));
}

TEST_CASE("with each checkpoint more that waits the intervals count double", "[checkpoints]") {
  const auto [waiting, times] = GENERATE(table<std::int64_t, std::int64_t>(
      {{9, 2}, {10, 4}, {11, 8}, {16, 256}, {40, std::int64_t{1} << 32}}));
  const std::int64_t last = std::int64_t{1} << 60;
  SECTION("of steps") {
    CheckpointSchedule schedule({.every_steps = 10, .last_step = last}, 0, begin);
    CHECK_FALSE(schedule.is_due({.step = 10, .now = begin, .waiting = waiting}));
    CHECK_FALSE(schedule.is_due({.step = 10 * times - 1, .now = begin, .waiting = waiting}));
    CHECK(schedule.is_due({.step = 10 * times, .now = begin, .waiting = waiting}));
  }
  SECTION("of time") {
    CheckpointSchedule schedule({.every = seconds(60), .last_step = last}, 0, begin);
    const Time due = begin + seconds(60) * times;
    CHECK_FALSE(schedule.is_due({.step = 1, .now = begin + seconds(60), .waiting = waiting}));
    CHECK_FALSE(schedule.is_due({.step = 1, .now = due - Millis{1}, .waiting = waiting}));
    CHECK(schedule.is_due({.step = 1, .now = due, .waiting = waiting}));
  }
}

TEST_CASE("however many wait, one that is ordered is due, and what is never stays never",
          "[checkpoints]") {
  const std::int64_t waiting = GENERATE(as<std::int64_t>{}, 9, 70, 71, 1000, most_steps);
  CheckpointSchedule both({.every_steps = 10, .every = seconds(60), .last_step = most_steps}, 0,
                          begin);
  CheckpointSchedule never({.every_steps = 0, .last_step = most_steps}, 0, begin);
  const Time late = begin + seconds(600'000'000);

  CHECK(both.is_due({.step = 1, .ordered = true, .now = begin, .waiting = waiting}));
  CHECK_FALSE(never.is_due({.step = most_steps - 1, .now = late, .waiting = waiting}));
  if (waiting > 60) CHECK_FALSE(both.is_due({.step = 1'000'000, .now = late, .waiting = waiting}));
}

TEST_CASE("an interval that cannot double any more ends with the numbers there are",
          "[checkpoints]") {
  CheckpointSchedule schedule({.every_steps = most_steps / 2, .last_step = most_steps}, 0, begin);
  CHECK_FALSE(schedule.is_due({.step = most_steps - 2, .now = begin, .waiting = 9}));
  CHECK(schedule.is_due({.step = most_steps - 1, .now = begin, .waiting = 9}));
  CheckpointSchedule longer({.every_steps = most_steps - 2, .last_step = most_steps}, 0, begin);
  CHECK(longer.is_due({.step = most_steps - 1, .now = begin, .waiting = 9}));
  CheckpointSchedule timed({.every = {most_steps}, .last_step = most_steps}, 0, begin);
  CHECK_FALSE(timed.is_due({.step = 1, .now = begin + seconds(1'000'000), .waiting = 20}));
}

TEST_CASE("an outage leaves few checkpoints, and one of them is not old", "[checkpoints]") {
  const std::int64_t start = GENERATE(as<std::int64_t>{}, 0, 1'000'000, 123'450);
  CheckpointSchedule schedule({.every_steps = 10, .last_step = 10'000'000}, start, begin);
  std::int64_t waiting = 0;
  std::int64_t newest = start;
  std::int64_t oldest_percent = 0;  // the newest one's age, of the outage's
  for (std::int64_t step = start + 1; step <= start + 25'600; ++step) {
    if (step > start + 640) {
      oldest_percent = std::max(oldest_percent, (step - newest) * 100 / (step - start));
    }
    if (!schedule.is_due({.step = step, .now = begin, .waiting = waiting})) continue;
    schedule.ask(step, false, begin);
    schedule.begin();
    newest = step;
    ++waiting;
    CHECK(step % 10 == 0);
  }
  CHECK(waiting >= 18);  // of 2560 intervals
  CHECK(waiting <= 20);
  CHECK(oldest_percent <= 67);

  CHECK(schedule.is_due({.step = newest / 10 * 10 + 10, .now = begin}));  // all are delivered
}

}  // namespace trainyard::runtime
