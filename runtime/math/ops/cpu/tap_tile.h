// The innermost loop of convolutions: gemm's tile of sums, whose left side is gathered from an
// image instead of read from a matrix. A tile has groups of rows; rows of a group are evenly
// spaced, a group may lie anywhere, and a table says where each step of the depth lies from there.
// Each sum is the same chain of fused multiply-adds as in gemm_tile.
#pragma once

#include <cstdint>

#include "runtime/math/ops/finish.h"

namespace trainyard::runtime {

inline constexpr int tile_groups_max = 6;

// A step of the depth reads group[g][r * row_stride + offsets[step]] for row r of group g, and
// `columns` values at `right`, which lies at a border of 32 bytes.
struct TapTile {
  const float* group[tile_groups_max] = {};
  std::int64_t groups = 0;
  std::int64_t row_stride = 0;
  const std::int64_t* offsets = nullptr;
  std::int64_t depth = 0;
  const float* right = nullptr;
};

enum class Base { nothing, bias, target };

// Where the sums go: `count` rows of each group, `row_stride` apart. They are added to the base.
struct TapTarget {
  float* group[tile_groups_max] = {};
  std::int64_t count[tile_groups_max] = {};
  std::int64_t row_stride = 0;
  std::int64_t columns = 0;
  Base base = Base::nothing;
  const float* bias = nullptr;  // of the first column
  Finish finish = Finish::as_it_is;
};

// Of a row that begins at `to`; null: nothing is added.
[[gnu::always_inline]] inline const float* base_of(const TapTarget& target, const float* to) {
  return target.base == Base::target ? to : target.base == Base::bias ? target.bias : nullptr;
}

struct Avx2TapTile {
  static constexpr std::int64_t height = 2;  // rows of a group
  static constexpr std::int64_t groups = 3;  // at most
  static constexpr std::int64_t columns = 16;
  static constexpr std::int64_t width_of(std::int64_t count) { return count > 8 ? 16 : 8; }
  static void multiply(const TapTile& tile, const TapTarget& target);
};

// Groups of four ask for fewer addresses; of two, they fill tiles where a row has few pixels.
template <std::int64_t rows_of_a_group>
struct Avx512TapTile {
  static constexpr std::int64_t height = rows_of_a_group;
  static constexpr std::int64_t groups = 12 / rows_of_a_group;
  static constexpr std::int64_t columns = 32;
  static constexpr std::int64_t width_of(std::int64_t count) {
    return count > 16 ? 32 : count > 8 ? 16 : 8;
  }
  static void multiply(const TapTile& tile, const TapTarget& target);
};

}  // namespace trainyard::runtime
