// What a gradient says of the batch that it is of, and the sums of that over many.
#pragma once

#include <cstdint>

#include "runtime/core/staleness.h"

namespace trainyard::runtime {

struct BatchSums {
  std::int64_t examples = 0;  // the gradient's weight in the mean
  double loss_sum = 0;
  std::int64_t correct = 0;
  std::int64_t staleness = 0;  // async: updates between a push's base version and itself
  StalenessCounts stale = {};  // async: the same of each push

  BatchSums& operator+=(const BatchSums& more) {
    examples += more.examples;
    loss_sum += more.loss_sum;
    correct += more.correct;
    staleness += more.staleness;
    stale += more.stale;
    return *this;
  }
  bool operator==(const BatchSums&) const = default;
};

}  // namespace trainyard::runtime
