#include "runtime/ps/push_turns.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

using Turns = std::vector<Turn>;
constexpr auto over = Turn::Says::over;

}  // namespace

TEST_CASE("there are as many turns as pushes are left", "[turns]") {
  PushTurns turns({.pushes = 3, .max_staleness = {}}, {10, 20});
  CHECK(turns.ask(0, 11) == Turns{{0, 11, 0}});
  CHECK(turns.ask(1, 21) == Turns{{1, 21, 0}});
  CHECK_FALSE(turns.has_given(1, 22));
  CHECK(turns.ask(1, 22) == Turns{{1, 22, 0}});
  CHECK(turns.has_given(1, 22));
  CHECK(turns.ask(0, 12) == Turns{{0, 12, 0, over}});
  CHECK_FALSE(turns.has_given(0, 12));
  CHECK(turns.ask(1, 23) == Turns{{1, 23, 0, over}});
}

TEST_CASE("who asks again is told the same, and takes no second turn", "[turns]") {
  PushTurns turns({.pushes = 4, .max_staleness = {}}, {0, 0});
  CHECK(turns.begin_snapshot(5));
  CHECK(turns.ask(0, 1) == Turns{{0, 1, 5}});
  turns.ask(0, 2);
  turns.ask(0, 3);
  CHECK(turns.ask(0, 1) == Turns{{0, 1, 5}});
  CHECK(turns.ask(0, 3) == Turns{{0, 3, 0}});
  CHECK(turns.ask(1, 1) == Turns{{1, 1, 5}});
  CHECK(turns.ask(0, 4) == Turns{{0, 4, 0, over}});
  CHECK(turns.ask(0, 4) == Turns{{0, 4, 0, over}});
}

TEST_CASE("a step that cannot be asked for is answered with nothing", "[turns]") {
  PushTurns turns({.pushes = 9, .max_staleness = {}}, {10});
  for (const std::int64_t step : {-1, 0, 9, 10, 12}) CHECK(turns.ask(0, step).empty());
  for (const std::int64_t step : {11, 12, 13, 14}) CHECK(turns.ask(0, step).size() == 1);
  CHECK(turns.ask(0, 11).empty());  // long over
  CHECK(turns.ask(0, 16).empty());
}

TEST_CASE("nobody is further ahead of the slowest than the job allows", "[turns]") {
  PushTurns turns({.pushes = 9, .max_staleness = 1}, {10, 20});
  CHECK(turns.ask(0, 11) == Turns{{0, 11, 0}});
  CHECK(turns.ask(0, 12) == Turns{{0, 12, 0}});
  CHECK(turns.ask(0, 13).empty());
  CHECK(turns.ask(1, 21) == Turns{{1, 21, 0}});
  CHECK(turns.ask(1, 22) == Turns{{0, 13, 0}, {1, 22, 0}});
}

TEST_CASE("who waits for slower ranks is told when no push is left", "[turns]") {
  PushTurns turns({.pushes = 3, .max_staleness = 1}, {0, 0});
  turns.ask(0, 1);
  turns.ask(0, 2);
  turns.ask(0, 3);
  CHECK(turns.begin_snapshot(1));
  CHECK(turns.ask(1, 1) == Turns{{1, 1, 1}});
  CHECK(turns.ask(1, 2) == Turns{{0, 3, 1, over}, {1, 2, 0, over}});
}

TEST_CASE("a snapshot that nobody is left to mark does not begin", "[turns]") {
  PushTurns turns({.pushes = 0, .max_staleness = {}}, {0, 0});
  CHECK(turns.begin_snapshot(1));
  CHECK(turns.ask(0, 1) == Turns{{0, 1, 1, over}});
  CHECK(turns.begin_snapshot(2));
  CHECK(turns.ask(1, 1) == Turns{{1, 1, 2, over}});
  CHECK(turns.begin_snapshot(2));  // told again
  CHECK_FALSE(turns.begin_snapshot(3));
}

TEST_CASE("who has marked the last snapshot gets no turn, unless staleness is bounded", "[turns]") {
  PushTurns turns({.pushes = 9, .max_staleness = {}}, {0, 0});
  turns.ask(0, 1);
  CHECK(turns.begin_snapshot(7, AfterSnapshot::stops));
  CHECK(turns.ask(0, 2) == Turns{{0, 2, 7}});
  CHECK(turns.ask(0, 3).empty());
  CHECK(turns.ask(1, 1) == Turns{{1, 1, 7}});
  CHECK(turns.ask(1, 2).empty());

  PushTurns bounded({.pushes = 9, .max_staleness = 1}, {0, 0});
  CHECK(bounded.begin_snapshot(7, AfterSnapshot::stops));
  CHECK(bounded.ask(0, 1) == Turns{{0, 1, 7}});
  CHECK(bounded.ask(0, 2) == Turns{{0, 2, 0}});
}

}  // namespace trainyard::runtime
