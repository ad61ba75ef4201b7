// Where the parameters of a step lie on the host.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::runtime {

struct ParameterPlace {
  // Most lie as they are, so whatever is a span of floats is such a place.
  template <class Floats>
  requires std::convertible_to<const Floats&, std::span<const float>> ParameterPlace(
      const Floats& floats)
      : arena(floats) {}  // NOLINT: implicit
  ParameterPlace(std::vector<float>&& gone) = delete;
  ParameterPlace(std::span<const float> floats, std::span<const std::uint16_t> rounded)
      : arena(floats), bfloat16(rounded) {}

  std::span<const float> arena;  // the whole one, padding included
  // Where a device computes, each element rounded to bfloat16 at its place in the arena instead,
  // but for state, which lies behind them. Empty: all are as they are.
  std::span<const std::uint16_t> bfloat16 = {};
};

}  // namespace trainyard::runtime
