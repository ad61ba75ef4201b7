#include "runtime/core/clock_at_ps.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {

TEST_CASE("a worker tells what was acknowledged last, and that its push is under way",
          "[clock_at_ps]") {
  ClockAtPs clock;
  clock.note({.version = 12, .rank_step = 4, .clock = 3, .asked_snapshot = 10, .turn = false});
  CHECK(clock.told(0) ==
        ToldClock{.step = 4, .version = 12, .snapshot = 10, .pushes = false, .clock = 3});
  CHECK(clock.told(5).pushes);
  CHECK_FALSE(clock.told(4).pushes);
  clock.note({.version = 13, .rank_step = 5, .clock = 4, .asked_snapshot = 0, .turn = true});
  CHECK(clock.told(0) ==
        ToldClock{.step = 5, .version = 13, .snapshot = 10, .pushes = true, .clock = 4});
}

TEST_CASE("of several ps the newest version and name are told", "[clock_at_ps]") {
  ClockAtPs clock;
  ClockAtPs other;
  other.note({.version = 7, .rank_step = 2, .clock = 2, .asked_snapshot = 0, .turn = false});
  other.name_snapshot(6);
  ToldClock told = clock.told(0);
  other.add_to(told);
  clock.add_to(told);
  CHECK(told == ToldClock{.step = 0, .version = 7, .snapshot = 6});
}

TEST_CASE("a push that one ps has and another lacks is made up for", "[clock_at_ps]") {
  ClockAtPs lacks;
  lacks.learn(2, 4);
  CHECK(lacks.told(0) == ToldClock{.step = 3, .pushes = true});
  ClockAtPs has;
  has.learn(4, 4);
  CHECK(has.told(0) == ToldClock{.step = 4, .pushes = false});
}

TEST_CASE("a push is sent again until it is answered, a pull also after that", "[clock_at_ps]") {
  CHECK(ClockAtPs::sends_same(ClockAtPs::Sent::push));
  CHECK_FALSE(ClockAtPs::sends_same(ClockAtPs::Sent::answered_push));
  CHECK(ClockAtPs::sends_same(ClockAtPs::Sent::pull));
}

}  // namespace trainyard::runtime
