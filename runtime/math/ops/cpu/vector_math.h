// exp, tanh and sigmoid of float without branches, so that loops over them are vectorised. Plain
// IEEE operations in one order: vector and scalar code, and every host, give the same bits. Errors
// against the true value are at most 1 ulp (exp), 2 ulp (sigmoid) and 2 ulp (tanh), but that the
// runtime takes denormal results for zero (runtime/math/cpu.h):
// tests/runtime/math/vector_math_test.cpp.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "runtime/math/elements/both.h"

namespace trainyard::runtime {

inline constexpr float exp_lowest = -87.3365F;

// e^x = scale (1 + less_one), of an x that is not below exp_lowest; where it is, or is above 88.3,
// that of the nearest x which is not. Cody and Waite 1980: x = n ln 2 + r, e^x = 2^n e^r. The
// polynomial is Cephes' expf (Moshier).
struct Exponential {
  float scale;     // 2^n
  float less_one;  // e^r - 1
};

TRAINYARD_BOTH inline Exponential exponential_parts(float x) {
  constexpr float highest = 88.3762F;
  constexpr float round_magic = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  constexpr float ln2_high = 0.693359375F;    // few bits: n * ln2_high is exact
  constexpr float ln2_low = -2.12194440e-4F;
  const float above = x < exp_lowest ? exp_lowest : x;
  const float clamped = above > highest ? highest : above;
  const float shifted = clamped * 1.44269504F + round_magic;
  const float n = shifted - round_magic;
  const float r = (clamped - n * ln2_high) - n * ln2_low;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const auto exponent =
      std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(round_magic);
  return {.scale = std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23),
          .less_one = p * (r * r) + r};
}

// 0 below -87.3 and the largest power of two times e^r above 88.3, where the true value leaves the
// normal numbers.
TRAINYARD_BOTH inline float exp_float(float x) {
  const Exponential parts = exponential_parts(x);
  const float result = (parts.less_one + 1.0F) * parts.scale;
  return x < exp_lowest ? 0.0F : result;
}

TRAINYARD_BOTH inline float sigmoid_float(float x) { return 1.0F / (1.0F + exp_float(-x)); }

// Cephes' tanhf: a polynomial near zero, where 1 - 2 / (e^2x + 1) would lose its digits.
TRAINYARD_BOTH inline float tanh_float(float x) {
  const float magnitude = std::fabs(x);
  const float square = x * x;
  float p = -5.70498872745e-3F;
  p = p * square + 2.06390887954e-2F;
  p = p * square - 5.37397155531e-2F;
  p = p * square + 1.33314422036e-1F;
  p = p * square - 3.33332819422e-1F;
  const float near_zero = p * square * x + x;
  const float far = 1.0F - 2.0F / (exp_float(2.0F * magnitude) + 1.0F);
  return magnitude < 0.625F ? near_zero : std::copysign(far, x);
}

}  // namespace trainyard::runtime
