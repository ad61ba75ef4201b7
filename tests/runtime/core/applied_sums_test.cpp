#include "runtime/core/applied_sums.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {

TEST_CASE("sums count once they are applied, and are taken once", "[applied_sums]") {
  AppliedSums sums(2);
  sums.tell(0, 1, {.examples = 4, .loss_sum = 2, .metrics = {1}});
  sums.tell(1, 1, {.examples = 4, .loss_sum = 3, .metrics = {2}});
  CHECK_FALSE(sums.has_any());
  sums.apply(0, 1, 0);
  sums.apply(1, 1, 3);
  sums.apply(1, 1, 3);  // it has counted
  const BatchSums taken = sums.take();
  CHECK(taken.examples == 8);
  CHECK(taken.loss_sum == 5);
  CHECK(taken.metrics[0] == 3);
  CHECK(taken.staleness == 3);
  CHECK(taken.stale.total() == 2);
  CHECK_FALSE(sums.has_any());
}

TEST_CASE("a step may be told of before the one before it is applied, and again",
          "[applied_sums]") {
  AppliedSums sums(1);
  sums.tell(0, 1, {.examples = 1});
  sums.tell(0, 2, {.examples = 10});
  sums.tell(0, 1, {.examples = 1});
  sums.apply(0, 1, 0);
  sums.apply(0, 2, 0);
  CHECK(sums.take().examples == 11);
  sums.apply(0, 3, 0);  // of which nothing was told
  CHECK_FALSE(sums.has_any());
}

}  // namespace trainyard::runtime
