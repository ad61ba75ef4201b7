// What attention's kernels in tf32 and bfloat16 are made of: how rows of a head come into shared
// memory as words of tensor cores, and which elements of a tile a thread has.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/attention_rows.h"
#include "runtime/graph/grid/quad.h"
#include "runtime/graph/grid/tensor_core.h"
#include "runtime/graph/grid/tensor_core_reads.h"

namespace trainyard::runtime {

// Some rows of one head, each of `depth` features. What is beyond either is zero.
struct HeadRows {
  const float* data = nullptr;
  std::int64_t stride = 0;
  int count = 0;
  int depth = 0;

  [[nodiscard]] TRAINYARD_BOTH Quad quad(int row, int feature) const {
    Quad quad{};
    if (row >= count || feature >= depth) return quad;
    const float* const at = data + row * stride + feature;
    if (feature + 4 <= depth && is_quad(at)) return *reinterpret_cast<const Quad*>(at);
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (feature + e < depth) quad.of[e] = at[e];
    }
    return quad;
  }
};

// How the threads of a block bring `lines` rows into shared memory. A thread has quads of features
// of as many neighbouring rows as a word has numbers.
template <class Words, int lines, int depth, int threads>
struct TileRows {
  static constexpr int depths = Words::depths;
  static constexpr int groups = lines / depths;  // of neighbouring rows
  static constexpr int reads = groups * (depth / 4) / threads;
  static constexpr int lanes = 2;  // that read neighbouring quads of a row
  static_assert(groups * (depth / 4) % threads == 0);
  using Values = Quad[reads * depths];
  using Deep = SideWords<lines, depth / depths>;    // words of neighbouring features
  using Across = SideWords<depth, lines / depths>;  // words of neighbouring rows

  static TRAINYARD_BOTH int group(int thread, int k) {
    return (thread + k * threads) / lanes % groups;
  }
  static TRAINYARD_BOTH int feature(int thread, int k) {
    const int n = thread + k * threads;
    return 4 * (n % lanes + n / (lanes * groups) * lanes);
  }

  static TRAINYARD_BOTH void read(const HeadRows& from, int first, int thread, Values& values) {
#pragma unroll
    for (int k = 0; k < reads * depths; ++k) values[k] = quad(from, first, thread, k);
  }

  static TRAINYARD_BOTH void keep(const Values& values, int thread, Deep& to) {
#pragma unroll
    for (int k = 0; k < reads * depths; ++k) keep(values[k], thread, k, to);
  }

  static TRAINYARD_BOTH void keep_across(const Values& values, int thread, Across& to) {
#pragma unroll
    for (int k = 0; k < reads; ++k) {
      QuadOfWords words;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float numbers[depths];
#pragma unroll
        for (int r = 0; r < depths; ++r) numbers[r] = values[k * depths + r].of[e];
        words.of[e] = Words::pack(numbers);
      }
      *reinterpret_cast<QuadOfWords*>(&to.of[group(thread, k)][feature(thread, k)]) = words;
    }
  }

  // Both, a few quads at a time: for these a thread need not have registers for all of them.
  static TRAINYARD_BOTH void bring(const HeadRows& from, int first, int thread, Deep& to) {
#pragma unroll 4
    for (int k = 0; k < reads * depths; ++k) keep(quad(from, first, thread, k), thread, k, to);
  }

 private:
  static TRAINYARD_BOTH int line(int thread, int k) {
    return group(thread, k / depths) * depths + k % depths;
  }
  static TRAINYARD_BOTH Quad quad(const HeadRows& from, int first, int thread, int k) {
    return from.quad(first + line(thread, k), feature(thread, k / depths));
  }
  static TRAINYARD_BOTH void keep(const Quad& quad, int thread, int k, Deep& to) {
    const int word = feature(thread, k / depths) / depths;
#pragma unroll
    for (int w = 0; w < 4 / depths; ++w) {
      float numbers[depths];
#pragma unroll
      for (int e = 0; e < depths; ++e) numbers[e] = quad.of[w * depths + e];
      to.of[word + w][line(thread, k)] = Words::pack(numbers);
    }
  }
};

// A tile that four warps compute, two down and two across.
template <class Words, int height, int width>
struct FourWarps {
  static constexpr int tiles_down = height / 32;
  static constexpr int tiles_across = width / 16;
  static constexpr int rows = tiles_down * 2;  // that a thread has elements of
  using Sums = WarpSums<Words, tiles_down, tiles_across>;
  static_assert(height % 32 == 0 && width % 16 == 0);

  static TRAINYARD_BOTH int first_row(int thread) { return thread / 64 * (height / 2); }
  static TRAINYARD_BOTH int first_column(int thread) { return thread / 32 % 2 * (width / 2); }
  // Of a thread's r-th row.
  static TRAINYARD_BOTH int row(int thread, int r) {
    return first_row(thread) + r / 2 * 16 + sum_place(thread % 32, r % 2 * 2).row;
  }

  template <int words>
  static TRAINYARD_BOTH void multiply(const SideWords<height, words>& left,
                                      const SideWords<width, words>& right, int thread,
                                      Sums& sums) {
    constexpr int left_stride = SideWords<height, words>::stride;
    constexpr int right_stride = SideWords<width, words>::stride;
#pragma unroll
    for (int word = 0; word < words; word += Sums::words_at_once) {
      sums.template multiply<left_stride, right_stride>(
          &left.of[word][first_row(thread)], &right.of[word][first_column(thread)], thread % 32);
    }
  }

  // visit(r, column, pair) for each two sums side by side, of the thread's r-th row.
  template <class SomeSums, class Visit>
  static TRAINYARD_BOTH void each_pair(SomeSums& sums, int thread, const Visit& visit) {
    each_pair(sums, sums, thread,
              [&](int r, int column, auto* pair, const float*) { visit(r, column, pair); });
  }
  // visit(r, column, pair, pair of the others)
  template <class SomeSums, class Visit>
  static TRAINYARD_BOTH void each_pair(SomeSums& sums, const Sums& others, int thread,
                                       const Visit& visit) {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
#pragma unroll
      for (int across = 0; across < tiles_across; ++across) {
        const int column = first_column(thread) + across * 8 + sum_place(thread % 32, 0).column;
        visit(r, column, &sums.of[r / 2][across][r % 2 * 2], &others.of[r / 2][across][r % 2 * 2]);
      }
    }
  }

  // The sums as the left side of the next product, whose depth are their columns.
  static TRAINYARD_BOTH void keep(const Sums& sums, int thread,
                                  SideWords<height, width / Words::depths>& to) {
    each_pair(sums, thread, [&](int r, int column, const float* pair) {
#pragma unroll
      for (int w = 0; w < 2 / Words::depths; ++w) {
        float numbers[Words::depths];
#pragma unroll
        for (int e = 0; e < Words::depths; ++e) numbers[e] = pair[w + e];
        to.of[column / Words::depths + w][row(thread, r)] = Words::pack(numbers);
      }
    });
  }
};

// The example and head of a tile, and where it begins.
struct AttentionPlace {
  int number = 0;
  int first = 0;  // query or key
  int there = 0;  // keys that some query may see
};

// How large the sides are, and where the pairs of all examples and heads lie in them.
struct AttentionSides {
  AttentionRows rows;
  int queries = 0;
  int keys = 0;

  [[nodiscard]] TRAINYARD_BOTH AttentionPlace place(std::int64_t number, std::int64_t first) const {
    return {static_cast<int>(number), static_cast<int>(first),
            static_cast<int>(rows.seen.by_any(number))};
  }
  [[nodiscard]] TRAINYARD_BOTH bool is_seen(const AttentionPlace& at, int query, int key) const {
    return key < at.there && (key <= query || !rows.seen.is_causal);
  }
  // How many keys so many queries from the place's first one on see.
  [[nodiscard]] TRAINYARD_BOTH int seen_by(const AttentionPlace& at, int count) const {
    const int end = at.first + count < queries ? at.first + count : queries;
    return rows.seen.is_causal && end < at.there ? end : at.there;
  }
  // Where a pair's first query, or key, is in a tensor of queries, or of keys.
  [[nodiscard]] TRAINYARD_BOTH std::int64_t query_place(int number) const {
    return rows.queries.at(number);
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t key_place(int number) const {
    HeadPlaces of_keys = rows.queries;
    of_keys.time = keys;
    return of_keys.at(number);
  }
  [[nodiscard]] TRAINYARD_BOTH HeadRows query_rows(const float* data, int number) const {
    return {data + query_place(number), rows.queries.features, queries, depth()};
  }
  // Keys that are not there are not read: they may be anything.
  [[nodiscard]] TRAINYARD_BOTH HeadRows key_rows(const float* data,
                                                 const AttentionPlace& at) const {
    return {data + key_place(at.number), rows.queries.features, at.there, depth()};
  }
  [[nodiscard]] TRAINYARD_BOTH int depth() const { return static_cast<int>(rows.queries.depth); }
  // Of the first key's probability, in the endless line of them.
  [[nodiscard]] TRAINYARD_BOTH std::uint64_t number_of(const AttentionPlace& at, int query) const {
    return rows.dropped.first_of(rows.seen.pairs, at.number, query);
  }
};

// What the probabilities of a query of key `key` and of the next one are multiplied by.
TRAINYARD_BOTH inline void factors_of_two(const DroppedProbabilities& dropped, std::uint64_t first,
                                          std::int64_t key, float (&factors)[2]) {
  const std::uint64_t number = first + static_cast<std::uint64_t>(key);
  const std::uint64_t seed = dropped.drawing->seed;
  PhiloxWords words = dropout_words(seed, dropped.layer, number / 4);
  const auto factor = [&](std::uint64_t of) {
    return factor_of_word(word_of(words, static_cast<int>(of % 4)), dropped.threshold,
                          dropped.factor);
  };
  factors[0] = factor(number);
  if (number % 4 == 3) words = dropout_words(seed, dropped.layer, number / 4 + 1);
  factors[1] = factor(number + 1);
}

}  // namespace trainyard::runtime
