#include "runtime/core/told_clocks.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

using Steps = std::vector<std::int64_t>;

// Of a shard of version 10, in which are 4, 5 and 1 pushes.
ToldClocks of_three() { return {10, {4, 5, 1}}; }

}  // namespace

TEST_CASE("what workers have had acknowledged beyond the shard is lost, and counted",
          "[ps_return]") {
  ToldClocks clocks = of_three();
  clocks.tell(0, {.step = 9});
  clocks.tell(1, {.step = 5});
  CHECK_FALSE(clocks.is_complete());
  clocks.tell(2, {.step = 3});
  CHECK(clocks.is_complete());
  CHECK(clocks.rank_steps() == Steps{9, 5, 3});
  CHECK(clocks.version() == 17);
  CHECK(clocks.lost() == 7);
}

TEST_CASE("a push that the shard has and nobody was told of is not lost, and needs no turn",
          "[ps_return]") {
  ToldClocks clocks = of_three();
  clocks.tell(0, {.step = 3, .pushes = true});
  clocks.tell(1, {.step = 6, .pushes = true});
  clocks.tell(2, {.step = 1});
  CHECK(clocks.rank_steps() == Steps{4, 6, 1});
  CHECK(clocks.lost() == 1);
  CHECK_FALSE(clocks.pushes(0));
  CHECK(clocks.pushes(1));
  CHECK_FALSE(clocks.pushes(2));
}

TEST_CASE("of a rank that tells nothing the version says what there was at least", "[ps_return]") {
  ToldClocks clocks = of_three();
  clocks.tell(0, {.step = 6, .version = 30, .pushes = true});
  clocks.tell(1, {.step = 7, .version = 28});
  CHECK_FALSE(clocks.is_complete());
  clocks.give_up(2);
  CHECK(clocks.is_complete());
  CHECK(clocks.rank_steps() == Steps{6, 7, 1});
  // 30, of which one may be the push of rank 0 that comes once more.
  CHECK(clocks.version() == 29);
  CHECK(clocks.lost() == 19);
}

TEST_CASE("what all have told counts as it is, whatever version somebody saw", "[ps_return]") {
  ToldClocks clocks = of_three();
  // Rank 0 saw the pushes of the others that they have not had acknowledged.
  clocks.tell(0, {.step = 6, .version = 14});
  clocks.tell(1, {.step = 5, .version = 12, .pushes = true});
  clocks.tell(2, {.step = 1, .version = 11, .pushes = true});
  CHECK(clocks.version() == 12);
  CHECK(clocks.newest_version() == 14);
}

TEST_CASE("a version that another ps has had counts once the rank that says so has told",
          "[ps_return]") {
  ToldClocks clocks = of_three();
  clocks.see(2, 40);
  clocks.see(2, 35);
  CHECK(clocks.newest_version() == 10);
  CHECK(clocks.version() == 10);
  clocks.tell(2, {.step = 1, .pushes = true});
  CHECK(clocks.newest_version() == 40);
  CHECK(clocks.version() == 39);  // its own push may be in it
}

TEST_CASE("of two processes of a rank the one that is further counts", "[ps_return]") {
  ToldClocks clocks = of_three();
  clocks.tell(0, {.step = 8, .snapshot = 20});
  clocks.tell(0, {.step = 7});
  CHECK(clocks.step_of(0) == 8);
  CHECK(clocks.newest_snapshot() == 20);
  clocks.tell(0, {});
  CHECK(clocks.step_of(0) == 8);
  CHECK(clocks.has_told(0));
  CHECK_FALSE(clocks.has_told(1));
}

TEST_CASE("a rank's clock is told as the ps counted it, and not by another process of the rank",
          "[ps_return]") {
  ToldClocks clocks = of_three();
  clocks.tell(0, {.step = 9, .clock = 7});
  CHECK(clocks.first_step(0) == 2);
  clocks.tell(0, {.step = 8});
  CHECK(clocks.step_of(0) == 9);
  CHECK_FALSE(clocks.first_step(0));
  CHECK_FALSE(clocks.first_step(1));
}

TEST_CASE("a ps that had no shard yet goes on from nothing", "[ps_return]") {
  ToldClocks clocks(0, {0, 0});
  clocks.tell(0, {});
  clocks.tell(1, {});
  CHECK(clocks.is_complete());
  CHECK(clocks.version() == 0);
  CHECK(clocks.lost() == 0);
}

}  // namespace trainyard::runtime
