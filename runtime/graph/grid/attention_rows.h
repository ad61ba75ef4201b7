// Rows of scores on a grid: a query's softmax, and back.
#pragma once

#include <cstdint>

#include "runtime/core/portable_functions.h"
#include "runtime/graph/grid/attention_products.h"
#include "runtime/graph/kernels.h"
#include "runtime/math/elements/dropout.h"
#include "runtime/math/ops/cpu/vector_math.h"

namespace trainyard::runtime {

// Which probabilities are dropped.
struct DroppedProbabilities {
  const Drawing* drawing = nullptr;  // none: nothing is dropped
  std::uint32_t layer = 0;
  std::uint64_t threshold = 0;
  float factor = 1;
  std::int64_t queries = 0;  // of the line of probabilities
  std::int64_t keys = 0;

  // The number of the first one of a query in the endless line of probabilities.
  [[nodiscard]] TRAINYARD_BOTH std::uint64_t first_of(const HeadPairs& pairs, std::int64_t number,
                                                      std::int64_t query) const {
    const std::uint64_t position = drawing->first_position + pairs.example_of(number);
    const std::int64_t of_example = (pairs.head_of(number) * queries + query) * keys;
    return position * static_cast<std::uint64_t>(pairs.heads * queries * keys) +
           static_cast<std::uint64_t>(of_example);
  }
};

// visit(i, factor) for i below count, of numbers from `first` on; a thread has those of one draw.
template <class Team, class Visit>
TRAINYARD_BOTH void visit_factors(const Team& team, const DroppedProbabilities& dropped,
                                  std::uint64_t first, std::int64_t count, const Visit& visit) {
  const std::uint64_t seed = dropped.drawing->seed;
  const std::uint64_t first_draw = first / 4;
  const auto draws =
      static_cast<std::int64_t>((first + static_cast<std::uint64_t>(count) + 3) / 4 - first_draw);
  team.each(draws, [&](std::int64_t n) {
    const PhiloxWords words =
        dropout_words(seed, dropped.layer, first_draw + static_cast<std::uint64_t>(n));
    const std::int64_t before = n * 4 - static_cast<std::int64_t>(first % 4);
    for (int word = 0; word < 4; ++word) {
      const std::int64_t i = before + word;
      if (i < 0 || i >= count) continue;
      visit(i, factor_of_word(word_of(words, word), dropped.threshold, dropped.factor));
    }
  });
}

// What the rows' kernels read of a group of pairs.
struct AttentionRows {
  SeenKeys seen;
  DroppedProbabilities dropped;
  HeadPlaces queries;  // in q, y and their gradients
  float scale = 1;
  std::int64_t pairs = 0;  // of the group
};

// Scores [pairs, queries, keys] become exponentials, 0 where the query does not see the key; their
// sums' inverses and logarithms, before some are dropped.
template <class Grid>
void scores_to_weights(Grid& grid, const AttentionRows& rows, float* scores, float* inverses,
                       float* log_sums) {
  const std::int64_t queries = rows.seen.queries;
  grid.teams(rows.pairs * queries,
             [=] TRAINYARD_KERNEL(std::int64_t row, typename Grid::Team team) {
               const std::int64_t number = row / queries;
               const std::int64_t query = row % queries;
               const std::int64_t seen = rows.seen.by(number, query);
               if (seen <= 0) {
                 if (team.is_first()) log_sums[row] = 0.0F;
                 return;
               }
               float* const weights = scores + row * rows.seen.keys;
               const float scale = rows.scale;
               const float largest = team.fold(
                   seen, weights[0] * scale, [=](std::int64_t i) { return weights[i] * scale; },
                   [](float a, float b) { return a < b ? b : a; });
               const float sum = team.sum(seen, [=](std::int64_t i) {
                 const float weight = exp_float(weights[i] * scale - largest);
                 weights[i] = weight;
                 return weight;
               });
               const std::int64_t hidden = rows.seen.by_block_of(number, query) - seen;
               team.each(hidden, [=](std::int64_t i) { weights[seen + i] = 0.0F; });
               if (team.is_first()) {
                 inverses[row] = 1.0F / sum;
                 log_sums[row] = static_cast<float>(static_cast<double>(largest) +
                                                    log_of_double(static_cast<double>(sum)));
               }
               if (rows.dropped.drawing == nullptr) return;
               team.wait();
               const std::uint64_t first = rows.dropped.first_of(rows.seen.pairs, number, query);
               visit_factors(team, rows.dropped, first, seen,
                             [=](std::int64_t i, float factor) { weights[i] *= factor; });
             });
}

// y *= the sum's inverse; 0 of a query that sees nothing.
template <class Grid>
void scale_rows(Grid& grid, const AttentionRows& rows, const float* inverses, float* y) {
  const std::int64_t depth = rows.queries.depth;
  const std::int64_t queries = rows.seen.queries;
  grid.each(rows.pairs * queries * depth, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t row = i / depth;
    const std::int64_t number = row / queries;
    float& to = y[rows.queries.at(number) + row % queries * rows.queries.features + i % depth];
    to = rows.seen.by_any(number) > 0 ? to * inverses[row] : 0.0F;
  });
}

// Memory of the way back.
struct BackwardRows {
  const float* y = nullptr;
  const float* y_gradient = nullptr;
  const float* log_sums = nullptr;  // of the group
  float* scores = nullptr;     // become what v's gradient is made of: probabilities, but for those
                               // that are dropped
  float* gradients = nullptr;  // of probabilities: become those of scores; or none
};

template <class Grid>
void back_through_softmax(Grid& grid, const AttentionRows& rows, const BackwardRows& of) {
  const std::int64_t queries = rows.seen.queries;
  const std::int64_t keys = rows.seen.keys;
  grid.teams(
      rows.pairs * queries, [=] TRAINYARD_KERNEL(std::int64_t row, typename Grid::Team team) {
        const std::int64_t number = row / queries;
        const std::int64_t query = row % queries;
        const std::int64_t seen = rows.seen.by(number, query);
        if (seen <= 0) return;
        float* const weights = of.scores + row * keys;
        float* const gradients = of.gradients == nullptr ? nullptr : of.gradients + row * keys;
        const float log_sum = of.log_sums[row];
        const float scale = rows.scale;
        float along = 0.0F;
        if (gradients != nullptr) {
          const std::int64_t place = rows.queries.at(number) + query * rows.queries.features;
          const float* const y = of.y + place;
          const float* const upstream = of.y_gradient + place;
          along = team.sum(rows.queries.depth, [=](std::int64_t i) { return y[i] * upstream[i]; });
        }
        const std::int64_t hidden = rows.seen.by_block_of(number, query) - seen;
        team.each(hidden, [=](std::int64_t i) {
          weights[seen + i] = 0.0F;
          if (gradients != nullptr) gradients[seen + i] = 0.0F;
        });
        // A factor of 1 changes no bit.
        const auto go_back = [=](std::int64_t i, float factor) {
          const float weight = exp_float(weights[i] * scale - log_sum);
          if (gradients != nullptr) {
            gradients[i] = weight * (gradients[i] * factor - along) * scale;
          }
          weights[i] = weight * factor;
        };
        if (rows.dropped.drawing == nullptr) {
          team.each(seen, [=](std::int64_t i) { go_back(i, 1.0F); });
        } else {
          const std::uint64_t first = rows.dropped.first_of(rows.seen.pairs, number, query);
          visit_factors(team, rows.dropped, first, seen, go_back);
        }
      });
}

}  // namespace trainyard::runtime
