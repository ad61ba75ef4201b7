// How the threads of a tile (tensor_core_tile.h) bring slices of a product's sides into shared
// memory: rounded, as words, word by word of the depth. What is beyond the depth is zero.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/gemm_reads.h"
#include "runtime/graph/grid/gemm_sides.h"
#include "runtime/graph/grid/quad.h"
#include "runtime/math/elements/both.h"

namespace trainyard::runtime {

inline constexpr int words_of_slice = 16;

// Words of a slice; eight more keep the lanes of a warp, which read four words of eight rows each,
// in different banks.
template <int length, int words = words_of_slice>
struct SideWords {
  static constexpr int stride = length + 8;
  alignas(16) std::uint32_t of[words][stride];
};

struct alignas(16) QuadOfWords {
  std::uint32_t of[4];
};

// Of a straight side: quads of neighbours in the depth (of a deep side) or of neighbouring rows.
template <class Side, class Words, int length, int threads>
struct StraightWords {
  static constexpr int depths = Words::depths;
  static constexpr int quads = length * words_of_slice * depths / 4 / threads;  // of a thread
  static constexpr int lanes = 2;                                               // of a deep row
  static constexpr int rows_at_once = threads / lanes / length;  // times `lanes` quads of each row
  static constexpr int words_at_once = threads / (length / 4);   // of a side that is not deep
  static_assert(quads % depths == 0 && threads % (lanes * length) == 0);
  struct Places {};
  using To = SideWords<length>;
  using Values = Quad[quads];

  struct Kept {
    const float* at;
    int more;       // of the three rows behind the first, how many exist
    bool is_whole;  // a quad of rows may be read at once
  };

  static TRAINYARD_BOTH int i(bool is_deep, int thread) {
    return is_deep ? thread / lanes % length : thread % (length / 4) * 4;
  }
  // Of the k-th quad.
  static TRAINYARD_BOTH int depth(bool is_deep, int thread, int k) {
    return is_deep
               ? (thread / (lanes * length) + k * rows_at_once) * (lanes * 4) + thread % lanes * 4
               : (thread / (length / 4) + k / depths * words_at_once) * depths + k % depths;
  }

  static TRAINYARD_BOTH void start(const Side& of, std::int64_t number, std::int64_t first,
                                   std::int64_t size, std::int64_t, int thread, Kept& kept) {
    const bool is_deep = of.is_deep();
    const std::int64_t wanted = first + i(is_deep, thread);
    const std::int64_t row = wanted < size ? wanted : size - 1;
    const std::int64_t after = size - 1 - row;
    kept.at = of.line(number, row);
    kept.more = is_deep || after > 3 ? 3 : static_cast<int>(after);
    kept.is_whole = kept.more == 3 && of.outer == 1;
  }

  static TRAINYARD_BOTH void find(const Side&, std::int64_t, int, int, Places&) {}

  static TRAINYARD_BOTH void read(const Side& from, const Kept& kept, const Places&, int,
                                  std::int64_t begin, int count, int thread, Values& values) {
    const bool is_deep = from.is_deep();
#pragma unroll
    for (int k = 0; k < quads; ++k) {
      const int d = depth(is_deep, thread, k);
      const float* const at = kept.at + (begin + d) * from.along;
      const bool is_whole = is_deep ? d + 4 <= count : d < count && kept.is_whole;
      if (is_whole && is_quad(at)) {
        values[k] = *reinterpret_cast<const Quad*>(at);
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int row = e < kept.more ? e : kept.more;
          const bool is_there = is_deep ? d + e < count : d < count;
          values[k].of[e] = is_there ? at[is_deep ? e : row * from.outer] : 0.0F;
        }
      }
    }
  }

  static TRAINYARD_BOTH void keep(const Side& from, const Kept&, const Values& values, int thread,
                                  To& to) {
    keep_quads(from.is_deep(), values, thread, to);
  }

  static TRAINYARD_BOTH void keep_quads(bool is_deep, const Values& values, int thread, To& to) {
    const int row = i(is_deep, thread);
    if (is_deep) {
#pragma unroll
      for (int k = 0; k < quads; ++k) {
        const int word = depth(true, thread, k) / depths;
#pragma unroll
        for (int w = 0; w < 4 / depths; ++w) {
          float numbers[depths];
#pragma unroll
          for (int e = 0; e < depths; ++e) numbers[e] = values[k].of[w * depths + e];
          to.of[word + w][row] = Words::pack(numbers);
        }
      }
    } else {
#pragma unroll
      for (int k = 0; k < quads; k += depths) {
        QuadOfWords words;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          float numbers[depths];
#pragma unroll
          for (int w = 0; w < depths; ++w) numbers[w] = values[k + w].of[e];
          words.of[e] = Words::pack(numbers);
        }
        *reinterpret_cast<QuadOfWords*>(&to.of[depth(false, thread, k) / depths][row]) = words;
      }
    }
  }
};

// Of any other side, from places that few threads find for all: in the same quads where the side
// has some, else word by word.
template <class Side, class Words, int length, int threads, bool is_left>
struct PlacedWords {
  static constexpr bool is_deep = Side::is_deep();
  static constexpr int depths = Words::depths;
  static constexpr int slice = words_of_slice * depths;
  static constexpr int together = 8;  // words of the depth that neighbours read
  static constexpr int reads = length * words_of_slice / threads;
  static constexpr int lines = is_deep ? length * together / threads : 1;
  static_assert(threads >= length && length * together % threads == 0 && reads % lines == 0);
  using Quads = StraightWords<Side, Words, length, threads>;
  using Place = typename Side::Place;
  using To = SideWords<length>;
  using Values = typename Quads::Values;
  static_assert(sizeof(Values) == reads * depths * sizeof(float));

  struct Places {
    alignas(16) Place of[2][slice];
  };
  struct Kept {
    typename Side::Line at[lines];
    bool has_quads;
  };

  static TRAINYARD_BOTH int i(int thread, int k) {
    return is_deep ? thread / together + k % lines * (threads / together) : thread % length;
  }
  static TRAINYARD_BOTH int word(int thread, int k) {
    return is_deep ? thread % together + k / lines * together
                   : thread / length + k * (threads / length);
  }

  // `begin`: of the depth.
  static TRAINYARD_BOTH void start(const Side& of, std::int64_t number, std::int64_t first,
                                   std::int64_t size, std::int64_t begin, int thread, Kept& kept) {
    kept.has_quads = of.has_quads() && (is_deep ? begin : size) % 4 == 0;
#pragma unroll
    for (int k = 0; k < lines; ++k) {
      const std::int64_t row = first + (kept.has_quads ? Quads::i(is_deep, thread) : i(thread, k));
      kept.at[k] = of.line(number, row < size ? row : size - (!is_deep && kept.has_quads ? 4 : 1));
    }
  }

  static TRAINYARD_BOTH void find(const Side& of, std::int64_t begin, int buffer, int thread,
                                  Places& places) {
    constexpr int warp = 32;
    const int d = is_left ? thread : thread - warp;
    if (d >= 0 && d < slice) places.of[buffer][d] = of.place(begin + d);
  }

  static TRAINYARD_BOTH void read(const Side& from, const Kept& kept, const Places& places,
                                  int buffer, std::int64_t, int count, int thread, Values& values) {
    if (kept.has_quads) {
#pragma unroll
      for (int k = 0; k < Quads::quads; ++k) {
        const int d = Quads::depth(is_deep, thread, k);
        values[k] = d < count ? from.read_quad(kept.at[0], places.of[buffer][d]) : Quad{};
#pragma unroll
        for (int e = 1; e < 4; ++e) {
          if (is_deep && d + e >= count) values[k].of[e] = 0.0F;
        }
      }
      return;
    }
#pragma unroll
    for (int k = 0; k < reads; ++k) {
#pragma unroll
      for (int e = 0; e < depths; ++e) {
        const int d = word(thread, k) * depths + e;
        const int n = k * depths + e;
        values[n / 4].of[n % 4] =
            d < count ? from.read(kept.at[k % lines], places.of[buffer][d]) : 0.0F;
      }
    }
  }

  static TRAINYARD_BOTH void keep(const Side&, const Kept& kept, const Values& values, int thread,
                                  To& to) {
    if (kept.has_quads) return Quads::keep_quads(is_deep, values, thread, to);
#pragma unroll
    for (int k = 0; k < reads; ++k) {
      float numbers[depths];
#pragma unroll
      for (int e = 0; e < depths; ++e) {
        const int n = k * depths + e;
        numbers[e] = values[n / 4].of[n % 4];
      }
      to.of[word(thread, k)][i(thread, k)] = Words::pack(numbers);
    }
  }
};

}  // namespace trainyard::runtime
