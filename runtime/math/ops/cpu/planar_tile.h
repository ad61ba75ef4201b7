// The innermost loop of convolutions with few columns, as one towards one channel or six: vectors
// go along the pixels of a row, not along the columns, which would leave most of a vector empty.
// The image lies channel by channel. Each sum is the same chain as in tap_tile.
#pragma once

#include "runtime/math/ops/cpu/tap_tile.h"

namespace trainyard::runtime {

inline constexpr std::int64_t planar_columns_max = 6;

// Of TapTile, a group is one vector of pixels side by side, and row_stride does not matter; panels
// are eight wide.
struct Avx2PlanarTile {
  static constexpr std::int64_t height = 8;
  static constexpr std::int64_t groups = 2;
  static constexpr std::int64_t columns = 8;
  static constexpr std::int64_t width_of(std::int64_t) { return 8; }
  static void multiply(const TapTile& tile, const TapTarget& target);
};

struct Avx512PlanarTile {
  static constexpr std::int64_t height = 16;
  static constexpr std::int64_t groups = 4;
  static constexpr std::int64_t columns = 8;
  static constexpr std::int64_t width_of(std::int64_t) { return 8; }
  static void multiply(const TapTile& tile, const TapTarget& target);
};

}  // namespace trainyard::runtime
