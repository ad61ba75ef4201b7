// What a gradient says of the batch that it is of, and the sums of that over many.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/core/staleness.h"

namespace trainyard::runtime {

// Of what a model measures beside its loss (Model::metrics()), over examples; zero where it has
// fewer.
inline constexpr std::size_t metrics_max = 8;
using MetricSums = std::array<double, metrics_max>;

inline void add_to(MetricSums& sums, const MetricSums& more) {
  for (std::size_t i = 0; i < metrics_max; ++i) sums[i] += more[i];
}

struct BatchSums {
  std::int64_t examples = 0;  // the gradient's weight in the mean
  double loss_sum = 0;
  MetricSums metrics = {};
  std::int64_t staleness = 0;  // async: updates between a push's base version and itself
  StalenessCounts stale = {};  // async: the same of each push

  BatchSums& operator+=(const BatchSums& more) {
    examples += more.examples;
    loss_sum += more.loss_sum;
    add_to(metrics, more.metrics);
    staleness += more.staleness;
    stale += more.stale;
    return *this;
  }
  bool operator==(const BatchSums&) const = default;
};

}  // namespace trainyard::runtime
