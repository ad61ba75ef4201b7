// Softmax cross entropy of rows of logits on a grid, and what matches their labels. Which label a
// row has, whether it counts, and which example it is of says a type of rows.
#pragma once

#include <cstdint>

#include "runtime/core/portable_functions.h"
#include "runtime/graph/grid/elements.h"
#include "runtime/graph/grid/team.h"
#include "runtime/math/ops/cpu/vector_math.h"

namespace trainyard::runtime {

// A row for each example.
struct LabelledRows {
  const std::int32_t* labels = nullptr;
  [[nodiscard]] TRAINYARD_BOTH bool counts(std::int64_t) const { return true; }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t label(std::int64_t row) const { return labels[row]; }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t example(std::int64_t row) const { return row; }
};

// As many rows as columns: each row's label is its own number.
struct PairedRows {
  [[nodiscard]] TRAINYARD_BOTH bool counts(std::int64_t) const { return true; }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t label(std::int64_t row) const { return row; }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t example(std::int64_t row) const { return row; }
};

// A row for each token.
struct TokenRows {
  const std::int32_t* labels = nullptr;
  const std::int32_t* lengths = nullptr;  // none: all examples are full
  std::int64_t time = 1;
  [[nodiscard]] TRAINYARD_BOTH bool counts(std::int64_t row) const {
    return row % time < length(row / time);
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t label(std::int64_t row) const { return labels[row]; }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t example(std::int64_t row) const { return row / time; }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t length(std::int64_t number) const {
    return lengths == nullptr ? time : lengths[number];
  }
};

struct LogitRows {
  const float* logits = nullptr;  // [count, columns]
  std::int64_t count = 0;
  std::int64_t columns = 0;
};

TRAINYARD_BOTH inline float larger_of(float a, float b) { return a < b ? b : a; }

// losses [count], and the softmax; without a place for that it is not kept.
template <class Grid, class Rows>
void softmax_cross_entropy_on(Grid& grid, const Rows& rows, const LogitRows& of, float smoothing,
                              float* losses, float* probabilities) {
  const float* const logits = of.logits;
  const std::int64_t columns = of.columns;
  grid.teams(of.count, [=] TRAINYARD_KERNEL(std::int64_t row, typename Grid::Team team) {
    if (!rows.counts(row)) return;
    const float* const from = logits + row * columns;
    float* const to = probabilities == nullptr ? nullptr : probabilities + row * columns;
    const float largest = team.fold(
        columns, from[0], [=](std::int64_t i) { return from[i]; },
        [](float a, float b) { return larger_of(a, b); });
    float loss = -(from[rows.label(row)] - largest);
    if (smoothing > 0) {
      const float sum = team.sum(columns, [=](std::int64_t i) { return from[i] - largest; });
      const float mean = -sum / static_cast<float>(columns);
      loss = (1.0F - smoothing) * loss + smoothing * mean;
    }
    const float total = team.sum(columns, [=](std::int64_t i) {
      const float value = exp_float(from[i] - largest);
      if (to != nullptr) to[i] = value;
      return value;
    });
    if (team.is_first()) {
      losses[row] = loss + static_cast<float>(log_of_double(static_cast<double>(total)));
    }
    if (to == nullptr) return;
    const float inverse = 1.0F / total;
    team.each(columns, [=](std::int64_t i) { to[i] *= inverse; });
  });
}

// Of the logits; losses_gradient has a number for each example.
template <class Grid, class Rows>
void softmax_cross_entropy_gradient_on(Grid& grid, const Rows& rows, const LogitRows& probabilities,
                                       float smoothing, const float* losses_gradient, float* to,
                                       Write write) {
  const float* const from = probabilities.logits;
  const std::int64_t columns = probabilities.columns;
  const float shared = smoothing / static_cast<float>(columns);
  const float own = 1.0F - smoothing;
  grid.each(probabilities.count * columns, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t row = i / columns;
    if (!rows.counts(row)) {
      if (write == Write::overwrite) to[i] = 0.0F;
      return;
    }
    const float scale = losses_gradient[rows.example(row)];
    float value = scale * (from[i] - shared);
    if (write == Write::add) value = to[i] + value;
    to[i] = i % columns == rows.label(row) ? value - scale * own : value;
  });
}

// matches [count] = 1 where the label's logit is the first of the largest, else 0. Who begins with
// NaN is never exceeded.
template <class Grid, class Rows>
void match_rows_on(Grid& grid, const Rows& rows, const LogitRows& of, float* matches) {
  const float* const logits = of.logits;
  const std::int64_t columns = of.columns;
  grid.teams(of.count, [=] TRAINYARD_KERNEL(std::int64_t row, typename Grid::Team team) {
    if (!rows.counts(row)) return;
    const float* const from = logits + row * columns;
    const float largest = team.fold(
        columns, from[0], [=](std::int64_t i) { return from[i]; },
        [](float a, float b) { return larger_of(a, b); });
    const std::int64_t label = rows.label(row);
    const int before = team.fold(
        label, 0, [=](std::int64_t i) { return from[i] == largest ? 1 : 0; },
        [](int a, int b) { return a + b; });
    const bool is_best = label == 0 && from[0] != from[0];
    if (!team.is_first()) return;
    matches[row] = is_best || (from[label] == largest && before == 0) ? 1.0F : 0.0F;
  });
}

// matches [count] = 1 where the label is among the k columns of the largest logits, of equal ones
// the first, else 0.
template <class Grid, class Rows>
void match_top_rows_on(Grid& grid, const Rows& rows, const LogitRows& of, std::int64_t k,
                       float* matches) {
  const float* const logits = of.logits;
  const std::int64_t columns = of.columns;
  grid.teams(of.count, [=] TRAINYARD_KERNEL(std::int64_t row, typename Grid::Team team) {
    const float* const from = logits + row * columns;
    const std::int64_t label = rows.label(row);
    const float own = from[label];
    const int before = team.fold(
        columns, 0,
        [=](std::int64_t i) { return from[i] > own || (i < label && from[i] == own) ? 1 : 0; },
        [](int a, int b) { return a + b; });
    if (team.is_first()) matches[row] = before < k && own == own ? 1.0F : 0.0F;
  });
}

}  // namespace trainyard::runtime
