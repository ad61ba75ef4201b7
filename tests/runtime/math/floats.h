// How tests compare floats: to a tolerance that grows with the value, to the bit, and by hand-made
// tensors.
#pragma once

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "runtime/core/counter_rng.h"
#include "runtime/math/avx512.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

inline void require_close(std::span<const float> got, std::span<const float> expected,
                          double tolerance) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i);
    const auto scale = std::max(1.0, std::fabs(static_cast<double>(expected[i])));
    REQUIRE(static_cast<double>(got[i]) ==
            Approx(static_cast<double>(expected[i])).margin(tolerance * scale));
  }
}

inline void require_same_bits(std::span<const float> got, std::span<const float> expected) {
  REQUIRE(got.size() == expected.size());
  if (got.empty() || std::memcmp(got.data(), expected.data(), got.size_bytes()) == 0) return;
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i << ": " << got[i] << " and " << expected[i]);
    REQUIRE(std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(expected[i]));
  }
}

// For tests that compare vectors of sixteen with those of eight.
inline void warn_without_avx512() {
  if (!has_avx512()) WARN("skipped: no AVX-512 here to compare with");
}

// N(0, 1), by seed.
inline std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
  const CounterRng rng(seed, RngStream::synthetic);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(rng.normal(i));
  return values;
}

inline Tensor tensor_of(std::vector<float>& values, const Shape& shape) {
  REQUIRE(std::ssize(values) == shape.elements());
  return {values.data(), shape};
}

inline ConstTensor tensor_of(const std::vector<float>& values, const Shape& shape) {
  REQUIRE(std::ssize(values) == shape.elements());
  return {values.data(), shape};
}

}  // namespace trainyard::runtime
