// How the fields of an example go together (math/ops/factor.h) on a grid: x [examples, fields,
// features].
#pragma once

#include <cstdint>

#include "runtime/graph/grid/elements.h"
#include "runtime/graph/grid/row_sums.h"
#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

// Over the fields, of one feature.
struct FieldSums {
  float values = 0;
  float squares = 0;
};

TRAINYARD_BOTH inline FieldSums sum_of_fields(const float* x, std::int64_t first, std::int64_t end,
                                              std::int64_t features) {
  FieldSums sums;
  for (std::int64_t field = first; field < end; ++field) {
    const float value = x[field * features];
    sums.values += value;
    sums.squares += value * value;
  }
  return sums;
}

TRAINYARD_BOTH inline FieldSums operator+(const FieldSums& a, const FieldSums& b) {
  return {a.values + b.values, a.squares + b.squares};
}

// In the order of sum_rows. x: the feature in the first field.
TRAINYARD_BOTH inline FieldSums field_sums_of(const float* x, std::int64_t fields,
                                              std::int64_t features) {
  if (fields <= rows_of_a_sum) return sum_of_fields(x, 0, fields, features);
  constexpr int levels = 40;
  FieldSums waiting[levels];  // [i]: the sum of 2^i blocks that waits for its neighbour
  std::int64_t blocks = 0;
  for (std::int64_t first = 0; first < fields; first += rows_of_a_sum, ++blocks) {
    const std::int64_t end = first + rows_of_a_sum < fields ? first + rows_of_a_sum : fields;
    FieldSums sums = sum_of_fields(x, first, end, features);
    int level = 0;
    for (; (blocks >> level & 1) != 0; ++level) sums = waiting[level] + sums;
    waiting[level] = sums;
  }
  FieldSums total;
  bool is_there = false;
  for (int level = 0; level < levels; ++level) {
    if ((blocks >> level & 1) == 0) continue;
    total = is_there ? waiting[level] + total : waiting[level];
    is_there = true;
  }
  return total;
}

template <class Grid>
void factorize_on(Grid& grid, ConstTensor x, Tensor y) {
  constexpr std::int64_t strip = 128;  // features that are summed at a time
  const std::int64_t fields = x.shape[1];
  const std::int64_t features = x.shape[2];
  const float* const from = x.data;
  float* const to = y.data;
  grid.teams(x.shape[0], [=] TRAINYARD_KERNEL(std::int64_t example, typename Grid::Team team) {
    const float* const values = from + example * fields * features;
    float sum = 0;
    for (std::int64_t first = 0; first < features; first += strip) {
      const std::int64_t width = features - first < strip ? features - first : strip;
      sum += team.sum(width, [=](std::int64_t i) {
        const FieldSums sums = field_sums_of(values + first + i, fields, features);
        return sums.values * sums.values - sums.squares;
      });
    }
    if (team.is_first()) to[example] = 0.5F * sum;
  });
}

template <class Grid>
void factorize_gradient_on(Grid& grid, ConstTensor x, const float* y_gradient,
                           const GradientTarget& target) {
  const std::int64_t fields = x.shape[1];
  const std::int64_t features = x.shape[2];
  const float* const from = x.data;
  float* const into = target.into.data;
  const Write write = target.write;
  grid.each(x.shape[0] * features, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t example = i / features;
    const std::int64_t first = example * fields * features + i % features;
    const float upstream = y_gradient[example];
    const float sum = field_sums_of(from + first, fields, features).values;
    for (std::int64_t field = 0; field < fields; ++field) {
      const std::int64_t at = first + field * features;
      put(into[at], upstream * (sum - from[at]), write);
    }
  });
}

// The place of the product of fields `one` and `other`, of which `one` is the later.
TRAINYARD_BOTH inline std::int64_t pair_at(std::int64_t one, std::int64_t other) {
  return one * (one - 1) / 2 + other;
}

template <class Grid>
void pairwise_dot_on(Grid& grid, ConstTensor x, Tensor y) {
  const std::int64_t fields = x.shape[1];
  const std::int64_t features = x.shape[2];
  const std::int64_t pairs = fields * (fields - 1) / 2;
  const float* const from = x.data;
  float* const to = y.data;
  grid.teams(x.shape[0] * fields * fields, [=] TRAINYARD_KERNEL(std::int64_t i,
                                                                typename Grid::Team team) {
    const std::int64_t example = i / (fields * fields);
    const std::int64_t one = i / fields % fields;
    const std::int64_t other = i % fields;
    if (other >= one) return;
    const float* const a = from + (example * fields + one) * features;
    const float* const b = from + (example * fields + other) * features;
    const float sum = team.sum(features, [=](std::int64_t place) { return a[place] * b[place]; });
    if (team.is_first()) to[example * pairs + pair_at(one, other)] = sum;
  });
}

template <class Grid>
void pairwise_dot_gradient_on(Grid& grid, ConstTensor x, const float* y_gradient,
                              const GradientTarget& target) {
  const std::int64_t fields = x.shape[1];
  const std::int64_t features = x.shape[2];
  const std::int64_t pairs = fields * (fields - 1) / 2;
  const float* const from = x.data;
  float* const into = target.into.data;
  const Write write = target.write;
  grid.each(x.shape[0] * fields * features, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t feature = i % features;
    const std::int64_t field = i / features % fields;
    const std::int64_t example = i / features / fields;
    const float* const values = from + example * fields * features + feature;
    const float* const upstream = y_gradient + example * pairs;
    float sum = write == Write::add ? into[i] : 0.0F;
    bool is_first = write == Write::overwrite;
    for (std::int64_t other = 0; other < fields; ++other) {
      if (other == field) continue;
      const std::int64_t pair = field > other ? pair_at(field, other) : pair_at(other, field);
      const float value = upstream[pair] * values[other * features];
      sum = is_first ? value : sum + value;
      is_first = false;
    }
    into[i] = sum;
  });
}

}  // namespace trainyard::runtime
