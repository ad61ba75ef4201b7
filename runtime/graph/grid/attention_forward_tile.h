// Attention in tf32 and bfloat16 whose scores are never in memory: T. Dao, "FlashAttention-2:
// Faster Attention with Better Parallelism and Work Partitioning" (2023), algorithm 1. A block of
// threads has a tile of queries and goes over tiles of keys; of a query it keeps the largest score
// so far, and the sums of exponentials of what is less than it, which shrink when a larger one
// comes.
#pragma once

#include <cstdint>
#include <limits>

#include "runtime/core/portable_functions.h"
#include "runtime/graph/grid/attention_tile.h"
#include "runtime/math/ops/cpu/vector_math.h"

namespace trainyard::runtime {

// Each tile of keys takes three steps: scores (and values are read), weights, sums of values (and
// the next keys are read). One step is before them, and one behind.
template <class Words, int depth>
struct AttendTile {
  static constexpr int threads = 128;
  static constexpr int blocks_at_once = depth * Words::depths > 64 ? 2 : 3;  // by its registers
  static constexpr int depth_words = depth / Words::depths;
  static constexpr int queries = 64;
  static constexpr int keys = depth_words > 32 ? 32 : 64;
  static constexpr int key_words = keys / Words::depths;
  static constexpr int lanes = 8;  // threads that have elements of one row
  using QueryRows = TileRows<Words, queries, depth, threads>;
  using KeyRows = TileRows<Words, keys, depth, threads>;
  using Scores = FourWarps<Words, queries, keys>;
  using Outputs = FourWarps<Words, queries, depth>;
  static constexpr int rows = Scores::rows;

  struct Shared {
    typename QueryRows::Deep q;
    typename KeyRows::Deep k;
    typename KeyRows::Across v;
    SideWords<queries, key_words> weights;
    float parts[queries][lanes];  // of a row: the largest score of each thread, or its sum
  };
  struct Thread {
    typename Scores::Sums scores;
    typename Outputs::Sums outputs;
    AttentionPlace at;
    int tiles;  // of keys
    float largest[rows];
    float sum[rows];  // of this thread's exponentials
  };

  AttentionSides of;
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  float* y = nullptr;
  float* log_sums = nullptr;
  std::int64_t tiles = 1;  // of a pair

  // The last queries first: of a causal op they see the most keys.
  [[nodiscard]] TRAINYARD_BOTH AttentionPlace place(std::int64_t block) const {
    return of.place(block / tiles, (tiles - 1 - block % tiles) * queries);
  }
  [[nodiscard]] TRAINYARD_BOTH int key_tiles(const AttentionPlace& at) const {
    return (of.seen_by(at, queries) + keys - 1) / keys;
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t steps(std::int64_t block) const {
    const int there = key_tiles(place(block));
    return there <= 0 ? 1 : 3 * std::int64_t{there} + 2;
  }

  TRAINYARD_BOTH void step(std::int64_t block, std::int64_t n, int thread, Shared& shared,
                           Thread& kept) const {
    if (n == 0) return start(block, thread, shared, kept);
    const int tile = static_cast<int>(n - 1) / 3;
    const int part = static_cast<int>(n - 1) % 3;
    if (tile >= kept.tiles) return finish(thread, shared, kept);
    if (part == 0) return score(tile, thread, shared, kept);
    if (part == 1) return weigh(tile, thread, shared, kept);
    add_values(tile, thread, shared, kept);
  }

 private:
  [[nodiscard]] TRAINYARD_BOTH std::int64_t row_of(const AttentionPlace& at, int query) const {
    return std::int64_t{at.number} * of.queries + query;
  }
  static TRAINYARD_BOTH int lane_of_row(int thread) { return thread / 32 % 2 * 4 + thread % 4; }

  TRAINYARD_BOTH void start(std::int64_t block, int thread, Shared& shared, Thread& kept) const {
    kept.at = place(block);
    kept.tiles = key_tiles(kept.at);
    kept.outputs.clear();
#pragma unroll
    for (int r = 0; r < rows; ++r) kept.sum[r] = 0.0F;
    if (kept.tiles <= 0) return store_nothing(thread, kept);
    QueryRows::bring(of.query_rows(q, kept.at.number), kept.at.first, thread, shared.q);
    KeyRows::bring(of.key_rows(k, kept.at), 0, thread, shared.k);
  }

  TRAINYARD_BOTH void score(int tile, int thread, Shared& shared, Thread& kept) const {
    typename KeyRows::Values values;
    KeyRows::read(of.key_rows(v, kept.at), tile * keys, thread, values);
    kept.scores.clear();
    Scores::multiply(shared.q, shared.k, thread, kept.scores);
    KeyRows::keep_across(values, thread, shared.v);
    constexpr float least = -std::numeric_limits<float>::infinity();
    const float scale = of.rows.scale;
    float largest[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) largest[r] = least;
    Scores::each_pair(kept.scores, thread, [&](int r, int column, float* pair) {
      const int query = kept.at.first + Scores::row(thread, r);
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const bool is_seen = of.is_seen(kept.at, query, tile * keys + column + e);
        pair[e] = is_seen ? pair[e] * scale : least;
        if (largest[r] < pair[e]) largest[r] = pair[e];
      }
    });
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      shared.parts[Scores::row(thread, r)][lane_of_row(thread)] = largest[r];
    }
  }

  TRAINYARD_BOTH void weigh(int tile, int thread, Shared& shared, Thread& kept) const {
    float shrinks[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const float* const parts = shared.parts[Scores::row(thread, r)];
      float largest = parts[0];
#pragma unroll
      for (int i = 1; i < lanes; ++i) largest = largest < parts[i] ? parts[i] : largest;
      // Each query sees the first key, so that there is a largest from the first tile on.
      if (tile > 0) largest = largest < kept.largest[r] ? kept.largest[r] : largest;
      shrinks[r] = tile == 0 ? 1.0F : exp_float(kept.largest[r] - largest);
      kept.largest[r] = largest;
      kept.sum[r] *= shrinks[r];
    }
    Outputs::each_pair(kept.outputs, thread, [&](int r, int, float* pair) {
      pair[0] *= shrinks[r];
      pair[1] *= shrinks[r];
    });
    Scores::each_pair(kept.scores, thread, [&](int r, int column, float* pair) {
      pair[0] = exp_float(pair[0] - kept.largest[r]);
      pair[1] = exp_float(pair[1] - kept.largest[r]);
      kept.sum[r] += pair[0] + pair[1];
      if (of.rows.dropped.drawing == nullptr) return;
      const int query = kept.at.first + Scores::row(thread, r);
      float factors[2];
      factors_of_two(of.rows.dropped, of.number_of(kept.at, query), tile * keys + column, factors);
      pair[0] *= factors[0];
      pair[1] *= factors[1];
    });
    Scores::keep(kept.scores, thread, shared.weights);
  }

  TRAINYARD_BOTH void add_values(int tile, int thread, Shared& shared, Thread& kept) const {
    const bool is_last = tile + 1 >= kept.tiles;
    typename KeyRows::Values next;
    if (!is_last) KeyRows::read(of.key_rows(k, kept.at), (tile + 1) * keys, thread, next);
    Outputs::multiply(shared.weights, shared.v, thread, kept.outputs);
    if (!is_last) return KeyRows::keep(next, thread, shared.k);
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      shared.parts[Scores::row(thread, r)][lane_of_row(thread)] = kept.sum[r];
    }
  }

  TRAINYARD_BOTH void finish(int thread, const Shared& shared, Thread& kept) const {
    float inverses[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const float* const parts = shared.parts[Scores::row(thread, r)];
      float sum = parts[0];
#pragma unroll
      for (int i = 1; i < lanes; ++i) sum += parts[i];
      inverses[r] = 1.0F / sum;
      const int query = kept.at.first + Scores::row(thread, r);
      if (query >= of.queries || lane_of_row(thread) > 0) continue;
      log_sums[row_of(kept.at, query)] = static_cast<float>(
          static_cast<double>(kept.largest[r]) + log_of_double(static_cast<double>(sum)));
    }
    store(thread, kept, inverses);
  }

  TRAINYARD_BOTH void store_nothing(int thread, Thread& kept) const {
    float zeros[rows];
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      zeros[r] = 0.0F;
      const int query = kept.at.first + Scores::row(thread, r);
      if (query >= of.queries || lane_of_row(thread) > 0) continue;
      log_sums[row_of(kept.at, query)] = 0.0F;
    }
    store(thread, kept, zeros);
  }

  TRAINYARD_BOTH void store(int thread, Thread& kept, const float (&factors)[rows]) const {
    Outputs::each_pair(kept.outputs, thread, [&](int r, int column, const float* pair) {
      const int query = kept.at.first + Outputs::row(thread, r);
      if (query >= of.queries) return;
      float* const to =
          y + of.query_place(kept.at.number) + query * of.rows.queries.features + column;
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (column + e < of.depth()) to[e] = pair[e] * factors[r];
      }
    });
  }
};

}  // namespace trainyard::runtime
