// Where the gradient of a step is wanted.
#pragma once

#include <cstdint>
#include <span>

namespace trainyard::runtime {

struct GradientPlace {
  std::span<float> arena;  // the whole one, padding included
  // Where a device computes, each element there rounded to bfloat16 at its place in the arena
  // instead, but for state, which lies behind them. Empty: all are wanted as they are.
  std::span<std::uint16_t> bfloat16 = {};
};

}  // namespace trainyard::runtime
