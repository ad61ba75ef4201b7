// How the threads of a tile (gemm_tile.h) bring slices of a product's sides into shared memory.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/graph/grid/gemm_sides.h"
#include "runtime/graph/grid/quad.h"
#include "runtime/math/elements/both.h"

namespace trainyard::runtime {

// Sides whose number at (i, depth) is at line(0) + i * outer + depth * along.
template <class Side>
concept StraightSide = requires(const Side& side) {
  side.outer;
  side.along;
};

// What a thread reads of a side's slices: quads of neighbours in the depth (of a deep side) or of
// neighbouring rows, each so many places of the depth after the one before.
template <class Side, int side, int slice, int threads, bool is_left>
struct QuadReads {
  static constexpr int quads = side * slice / 4;
  static constexpr int reads = quads < threads ? 1 : quads / threads;
  static constexpr int depth_step = 4 * threads / side;
  static constexpr int lanes = threads < 2 * side ? 1 : 2;  // of a deep side's line
  static_assert(threads >= side && (quads % threads == 0 || quads < threads));
  // A place beyond the depth: its product with the other side's is a zero that changes no sum, not
  // even a negative zero.
  static constexpr float none = is_left ? -0.0F : 0.0F;
  struct Places {};
  using To = float[slice][side + 4];
  using Values = Quad[reads];

  struct Kept {
    const float* at;
    int more;   // rows there are after the first one, of three
    int least;  // of the depth that a quad needs
  };

  static TRAINYARD_BOTH int i(bool is_deep, int thread) {
    return is_deep ? thread / lanes % side : thread % (side / 4) * 4;
  }
  static TRAINYARD_BOTH int depth(bool is_deep, int thread) {
    return is_deep ? thread / (lanes * side) * (lanes * 4) + thread % lanes * 4
                   : thread / (side / 4);
  }

  static TRAINYARD_BOTH void start(const Side& of, std::int64_t number, std::int64_t first,
                                   std::int64_t size, int thread, Kept& kept) {
    const bool is_deep = of.is_deep();
    const std::int64_t wanted = first + i(is_deep, thread);
    const std::int64_t row = wanted < size ? wanted : size - 1;
    const std::int64_t after = size - 1 - row;
    kept.at = of.line(number, row) + depth(is_deep, thread) * of.along;
    kept.more = is_deep || after > 3 ? 3 : static_cast<int>(after);
    kept.least = is_deep ? 4 : kept.more == 3 && of.outer == 1 ? 1 : slice + 1;
  }

  static TRAINYARD_BOTH void find(const Side&, std::int64_t, int, int, Places&) {}

  static TRAINYARD_BOTH void read(const Side& from, const Kept& kept, const Places&, int,
                                  std::int64_t begin, int count, int thread, Values& values) {
    const bool is_deep = from.is_deep();
    const int first = depth(is_deep, thread);
    if (quads < threads && first >= slice) return;
#pragma unroll
    for (int k = 0; k < reads; ++k) {
      const float* const at = kept.at + (begin + k * depth_step) * from.along;
      const int here = count - first - k * depth_step;
      if (here >= kept.least && is_quad(at)) {
        values[k] = *reinterpret_cast<const Quad*>(at);
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int row = e < kept.more ? e : kept.more;
          const bool is_there = is_deep ? e < here : 0 < here;
          values[k].of[e] = is_there ? at[is_deep ? e : row * from.outer] : none;
        }
      }
    }
  }

  static TRAINYARD_BOTH void keep(const Side& from, const Values& values, int thread, To& to) {
    const bool is_deep = from.is_deep();
    const int first = depth(is_deep, thread);
    if (quads < threads && first >= slice) return;
    const int row = i(is_deep, thread);
    if (is_deep) {
#pragma unroll
      for (int k = 0; k < reads; ++k) {
#pragma unroll
        for (int e = 0; e < 4; ++e) to[first + k * depth_step + e][row] = values[k].of[e];
      }
    } else {
#pragma unroll
      for (int k = 0; k < reads; ++k) {
        *reinterpret_cast<Quad*>(&to[first + k * depth_step][row]) = values[k];
      }
    }
  }
};

// Of any other side: numbers one by one, whose places in the depth few threads find for all.
template <class Side, int side, int slice, int threads, bool is_left>
struct SingleReads {
  static constexpr bool is_deep = Side::is_deep();
  static constexpr int together = 8;  // neighbours in the depth that neighbours read
  static constexpr int reads = side * slice / threads;
  static constexpr int lines = is_deep ? side * together / threads : 1;
  static_assert(threads >= side && side * together % threads == 0 && reads % lines == 0);
  static constexpr float none = is_left ? -0.0F : 0.0F;
  using Place = typename Side::Place;
  using To = float[slice][side + 4];
  using Values = float[reads];

  struct Places {
    alignas(16) Place of[2][slice];
  };
  struct Kept {
    typename Side::Line at[lines];
  };

  static TRAINYARD_BOTH int i(int thread, int k) {
    return is_deep ? thread / together + k % lines * (threads / together) : thread % side;
  }
  static TRAINYARD_BOTH int depth(int thread, int k) {
    return is_deep ? thread % together + k / lines * together
                   : thread / side + k * (threads / side);
  }

  static TRAINYARD_BOTH void start(const Side& of, std::int64_t number, std::int64_t first,
                                   std::int64_t size, int thread, Kept& kept) {
#pragma unroll
    for (int k = 0; k < lines; ++k) {
      const std::int64_t row = first + i(thread, k);
      kept.at[k] = of.line(number, row < size ? row : size - 1);
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
#pragma unroll
    for (int k = 0; k < reads; ++k) {
      const int d = depth(thread, k);
      values[k] = d < count ? from.read(kept.at[k % lines], places.of[buffer][d]) : none;
    }
  }

  static TRAINYARD_BOTH void keep(const Side&, const Values& values, int thread, To& to) {
#pragma unroll
    for (int k = 0; k < reads; ++k) to[depth(thread, k)][i(thread, k)] = values[k];
  }
};

}  // namespace trainyard::runtime
