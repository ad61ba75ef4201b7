// What a product on a grid works in beside its sides and its result.
#pragma once

#include <algorithm>
#include <cstdint>

namespace trainyard::runtime {

// Elements of scratch with which a product of this size uses the whole of a GPU; it runs with less,
// or none, too.
inline std::int64_t gemm_scratch(std::int64_t rows, std::int64_t columns, std::int64_t cuts,
                                 std::int64_t products = 1) {
  constexpr std::int64_t tile = 64;
  constexpr std::int64_t blocks_wanted = 512;
  constexpr std::int64_t elements_max = std::int64_t{1} << 23;  // that a GPU's cache holds
  const std::int64_t blocks = ((rows + tile - 1) / tile) * ((columns + tile - 1) / tile) * products;
  if (cuts < 2 || blocks >= blocks_wanted || blocks == 0) return 0;
  const std::int64_t each = rows * columns * products;
  return each * std::min(cuts, std::max<std::int64_t>(2, elements_max / each));
}

}  // namespace trainyard::runtime
