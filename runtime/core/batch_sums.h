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

// What a loss is the mean of. Tokens: how many count differs from gradient to gradient, so each
// says it.
enum class MeanOver { examples, tokens };

// What makes a sum of gradients with this denominator the mean. Of examples all tasks know it
// ahead: `of_examples`. Of no tokens at all the mean is 0.
inline float mean_factor(MeanOver over, std::int64_t denominator, float of_examples) {
  if (over == MeanOver::examples) return of_examples;
  return denominator == 0 ? 0.0F : 1.0F / static_cast<float>(denominator);
}

struct BatchSums {
  std::int64_t examples = 0;
  // What the sums of losses and gradients are divided by to be the mean: the examples, or of a loss
  // for each token the tokens that count.
  std::int64_t denominator = 0;
  double loss_sum = 0;
  MetricSums metrics = {};
  std::int64_t staleness = 0;  // async: updates between a push's base version and itself
  StalenessCounts stale = {};  // async: the same of each push

  BatchSums& operator+=(const BatchSums& more) {
    examples += more.examples;
    denominator += more.denominator;
    loss_sum += more.loss_sum;
    add_to(metrics, more.metrics);
    staleness += more.staleness;
    stale += more.stale;
    return *this;
  }
  bool operator==(const BatchSums&) const = default;
};

}  // namespace trainyard::runtime
