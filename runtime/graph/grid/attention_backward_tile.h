// The way back of attention_forward_tile.h (algorithm 2 of the same paper): scores are multiplied
// again and become probabilities by the logarithms of their sums. A gradient is added up by one
// block, in one order, so it has the same bits each time: those of queries by a block that goes
// over the keys, those of keys and values by one that goes over the queries.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/graph/grid/attention_tile.h"
#include "runtime/graph/grid/elements.h"
#include "runtime/math/ops/cpu/vector_math.h"

namespace trainyard::runtime {

enum class AttentionSide { queries, keys };

// Memory of the way back. `alongs`: of each query the sum of its output times its gradient.
struct AttentionBackward {
  AttentionSides of;
  const float* q = nullptr;
  const float* k = nullptr;
  const float* v = nullptr;
  const float* y_gradient = nullptr;
  const float* log_sums = nullptr;
  const float* alongs = nullptr;
};

// A block keeps a tile of the side whose gradient it computes, and goes over tiles of the other
// side. Each takes four steps: scores, probabilities, their gradients, those of the scores; what
// these are multiplied by is added up in the first step of the next tile, or in the last one.
template <class Words, int depth, AttentionSide whose>
struct AttendBackTile {
  static constexpr int threads = 128;
  static constexpr int blocks_at_once = whose == AttentionSide::keys && depth > 64 ? 2 : 3;
  static constexpr bool is_of_keys = whose == AttentionSide::keys;
  static constexpr int depth_words = depth / Words::depths;
  static constexpr int length = depth_words > 32 ? 32 : 64;
  static constexpr int other_length = 32;
  using OwnRows = TileRows<Words, length, depth, threads>;
  using OtherRows = TileRows<Words, other_length, depth, threads>;
  using Scores = FourWarps<Words, length, other_length>;
  using Outputs = FourWarps<Words, length, depth>;

  struct Shared {
    typename OwnRows::Deep own;           // queries, or keys
    typename OwnRows::Deep own_gradient;  // the output's gradients, or values
    typename OtherRows::Deep other;       // the other side's, one after the other
    typename OtherRows::Across across;
    SideWords<length, other_length / Words::depths> weights;
  };
  struct None {};
  struct Thread {
    typename Scores::Sums weights;  // scores, then probabilities
    typename Outputs::Sums gradients;
    std::conditional_t<is_of_keys, typename Outputs::Sums, None> value_gradients;
    AttentionPlace at;
    int begin;  // tile of the other side
    int tiles;
    std::uint32_t dropped;  // a bit for each of the weights
  };

  AttentionBackward in;
  GradientTarget gradient{};        // of queries, or of keys
  GradientTarget value_gradient{};  // beside that of keys
  std::int64_t tiles = 1;           // of a pair

  [[nodiscard]] TRAINYARD_BOTH AttentionPlace place(std::int64_t block) const {
    const std::int64_t tile = is_of_keys ? block % tiles : tiles - 1 - block % tiles;
    return in.of.place(block / tiles, tile * length);
  }
  [[nodiscard]] TRAINYARD_BOTH int begin_tile(const AttentionPlace& at) const {
    return is_of_keys && in.of.rows.seen.is_causal ? at.first / other_length : 0;
  }
  [[nodiscard]] TRAINYARD_BOTH int end_tile(const AttentionPlace& at) const {
    if (at.there <= 0 || (is_of_keys && at.first >= at.there)) return 0;
    const int others_there = is_of_keys ? in.of.queries : in.of.seen_by(at, length);
    return (others_there + other_length - 1) / other_length;
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t steps(std::int64_t block) const {
    const AttentionPlace at = place(block);
    const int there = end_tile(at) - begin_tile(at);
    return there <= 0 ? 1 : 4 * std::int64_t{there} + 2;
  }

  TRAINYARD_BOTH void step(std::int64_t block, std::int64_t n, int thread, Shared& shared,
                           Thread& kept) const {
    if (n == 0) return start(block, thread, shared, kept);
    const int tile = static_cast<int>(n - 1) / 4;
    const int first = (kept.begin + tile) * other_length;
    switch (static_cast<int>(n - 1) % 4) {
      case 0:
        if (tile > 0 && gradient.into.data != nullptr) {
          Outputs::multiply(shared.weights, shared.across, thread, kept.gradients);
        }
        if (tile >= kept.tiles) return store(thread, kept);
        kept.weights.clear();
        return Scores::multiply(shared.own, shared.other, thread, kept.weights);
      case 1: return find_probabilities(first, thread, shared, kept);
      case 2: return find_gradients(first, thread, shared, kept);
      default: return next(first, thread, shared, kept);
    }
  }

 private:
  static constexpr AttentionSide others = is_of_keys ? AttentionSide::queries : AttentionSide::keys;

  // What scores are made of, and their probabilities' gradients.
  template <AttentionSide side>
  [[nodiscard]] TRAINYARD_BOTH HeadRows rows_of(const AttentionPlace& at) const {
    if constexpr (side == AttentionSide::keys) {
      return in.of.key_rows(in.k, at);
    } else {
      return in.of.query_rows(in.q, at.number);
    }
  }
  template <AttentionSide side>
  [[nodiscard]] TRAINYARD_BOTH HeadRows gradient_rows_of(const AttentionPlace& at) const {
    if constexpr (side == AttentionSide::keys) {
      return in.of.key_rows(in.v, at);
    } else {
      return in.of.query_rows(in.y_gradient, at.number);
    }
  }
  [[nodiscard]] TRAINYARD_BOTH bool asks_for_scores() const {
    return gradient.into.data != nullptr;
  }
  [[nodiscard]] TRAINYARD_BOTH bool asks_for_values() const {
    return is_of_keys && value_gradient.into.data != nullptr;
  }
  static TRAINYARD_BOTH int query_of(int own, int other) { return is_of_keys ? other : own; }
  static TRAINYARD_BOTH int key_of(int own, int other) { return is_of_keys ? own : other; }
  [[nodiscard]] TRAINYARD_BOTH bool is_seen(const AttentionPlace& at, int query, int key) const {
    return query < in.of.queries && in.of.is_seen(at, query, key);
  }

  TRAINYARD_BOTH void start(std::int64_t block, int thread, Shared& shared, Thread& kept) const {
    kept.at = place(block);
    kept.begin = begin_tile(kept.at);
    kept.tiles = end_tile(kept.at) - kept.begin;
    kept.dropped = 0;
    kept.gradients.clear();
    if constexpr (is_of_keys) kept.value_gradients.clear();
    if (kept.tiles <= 0) return store(thread, kept);
    OwnRows::bring(rows_of<whose>(kept.at), kept.at.first, thread, shared.own);
    if (asks_for_scores()) {
      OwnRows::bring(gradient_rows_of<whose>(kept.at), kept.at.first, thread, shared.own_gradient);
    }
    OtherRows::bring(rows_of<others>(kept.at), kept.begin * other_length, thread, shared.other);
  }

  TRAINYARD_BOTH void find_probabilities(int first, int thread, Shared& shared,
                                         Thread& kept) const {
    typename OtherRows::Values values;
    OtherRows::read(gradient_rows_of<others>(kept.at), first, thread, values);
    if (asks_for_scores()) OtherRows::keep(values, thread, shared.other);
    if (asks_for_values()) OtherRows::keep_across(values, thread, shared.across);
    const std::int64_t row_of_pair = std::int64_t{kept.at.number} * in.of.queries;
    Scores::each_pair(kept.weights, thread, [&](int r, int column, float* pair) {
      const int own = kept.at.first + Scores::row(thread, r);
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int other = first + column + e;
        const int query = query_of(own, other);
        pair[e] = is_seen(kept.at, query, key_of(own, other))
                      ? exp_float(pair[e] * in.of.rows.scale - in.log_sums[row_of_pair + query])
                      : 0.0F;
      }
    });
    if (in.of.rows.dropped.drawing != nullptr) find_dropped(first, thread, kept);
    if (!asks_for_values()) return;
    typename Scores::Sums weights = kept.weights;
    std::uint32_t bit = 1;
    Scores::each_pair(weights, thread, [&](int, int, float* pair) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        pair[e] *= factor_of(kept, bit);
        bit <<= 1;
      }
    });
    Scores::keep(weights, thread, shared.weights);
  }

  TRAINYARD_BOTH void find_dropped(int first, int thread, Thread& kept) const {
    const DroppedProbabilities& dropped = in.of.rows.dropped;
    kept.dropped = 0;
    std::uint32_t bit = 1;
    Scores::each_pair(kept.weights, thread, [&](int r, int column, float*) {
      const int own = kept.at.first + Scores::row(thread, r);
      const int other = first + column;
      float factors[2];
      if constexpr (is_of_keys) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          factors[e] = dropout_factor_at(
              dropped.drawing->seed, dropped.layer, dropped.threshold, dropped.factor,
              in.of.number_of(kept.at, other + e) + static_cast<std::uint64_t>(own));
        }
      } else {
        factors_of_two(dropped, in.of.number_of(kept.at, own), other, factors);
      }
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (factors[e] == 0.0F) kept.dropped |= bit;
        bit <<= 1;
      }
    });
  }
  [[nodiscard]] TRAINYARD_BOTH float factor_of(const Thread& kept, std::uint32_t bit) const {
    const DroppedProbabilities& dropped = in.of.rows.dropped;
    if (dropped.drawing == nullptr) return 1.0F;
    return (kept.dropped & bit) == 0 ? dropped.factor : 0.0F;
  }

  // Probabilities become gradients of the scores.
  TRAINYARD_BOTH void find_gradients(int first, int thread, Shared& shared, Thread& kept) const {
    if constexpr (is_of_keys) {
      if (asks_for_values()) {
        Outputs::multiply(shared.weights, shared.across, thread, kept.value_gradients);
      }
    }
    if (!asks_for_scores()) return;
    typename Scores::Sums gradients;
    gradients.clear();
    Scores::multiply(shared.own_gradient, shared.other, thread, gradients);
    const std::int64_t row_of_pair = std::int64_t{kept.at.number} * in.of.queries;
    std::uint32_t bit = 1;
    Scores::each_pair(
        kept.weights, gradients, thread,
        [&](int r, int column, float* weights, const float* gradients_of) {
          const int own = kept.at.first + Scores::row(thread, r);
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const int other = first + column + e;
            const int query = query_of(own, other);
            const float factor = factor_of(kept, bit);
            bit <<= 1;
            weights[e] = is_seen(kept.at, query, key_of(own, other))
                             ? weights[e] *
                                   (gradients_of[e] * factor - in.alongs[row_of_pair + query]) *
                                   in.of.rows.scale
                             : 0.0F;
          }
        });
  }

  TRAINYARD_BOTH void next(int first, int thread, Shared& shared, const Thread& kept) const {
    const HeadRows rows = rows_of<others>(kept.at);
    if (asks_for_scores()) {
      Scores::keep(kept.weights, thread, shared.weights);
      typename OtherRows::Values values;
      OtherRows::read(rows, first, thread, values);
      OtherRows::keep_across(values, thread, shared.across);
    }
    const int behind = first + other_length;
    if (behind >= (kept.begin + kept.tiles) * other_length) return;
    OtherRows::bring(rows, behind, thread, shared.other);
  }

  TRAINYARD_BOTH void store(int thread, const Thread& kept) const {
    if (asks_for_scores()) put_all(kept.gradients, gradient, thread, kept.at);
    if constexpr (is_of_keys) {
      if (asks_for_values()) put_all(kept.value_gradients, value_gradient, thread, kept.at);
    }
  }
  TRAINYARD_BOTH void put_all(const typename Outputs::Sums& sums, const GradientTarget& to,
                              int thread, const AttentionPlace& at) const {
    const int count = is_of_keys ? in.of.keys : in.of.queries;
    const std::int64_t place =
        is_of_keys ? in.of.key_place(at.number) : in.of.query_place(at.number);
    Outputs::each_pair(sums, thread, [&](int r, int column, const float* pair) {
      const int own = at.first + Outputs::row(thread, r);
      if (own >= count) return;
      if (is_of_keys && own >= at.there && to.write == Write::add) return;
      float* const into = to.into.data + place + own * in.of.rows.queries.features + column;
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (column + e < in.of.depth()) put(into[e], pair[e], to.write);
      }
    });
  }
};

}  // namespace trainyard::runtime
