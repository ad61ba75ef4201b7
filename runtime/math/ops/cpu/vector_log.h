// Logarithms of float, and exponentials less one, without branches, as vector_math.h has exp.
// Errors against the true value are at most 2 ulp (log, but near 1: see there) and 2.5 ulp (log1p,
// expm1): tests/runtime/math/activation_test.cpp.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "runtime/math/ops/cpu/vector_math.h"

namespace trainyard::runtime {

// log(x): -infinity of 0, NaN below. x = 2^n m with m from sqrt(1/2) to sqrt(2); the polynomial is
// Cephes' logf (Moshier).
TRAINYARD_BOTH inline float log_float(float x) {
  constexpr float least_normal = std::numeric_limits<float>::min();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float ln2_high = 0.693359375F;
  constexpr float ln2_low = -2.12194440e-4F;
  constexpr std::uint32_t sqrt_half = 0x3F3504F3;
  const bool is_small = x < least_normal;
  const float normal = is_small ? x * 8388608.0F : x;  // 2^23
  // As many steps of 2 as the bits are above those of sqrt(1/2).
  const auto above = std::bit_cast<std::uint32_t>(normal) - sqrt_half;
  const std::int32_t exponent = static_cast<std::int32_t>(above) >> 23;
  const float mantissa = std::bit_cast<float>((above & 0x007FFFFFU) + sqrt_half);
  const float n = static_cast<float>(exponent) - (is_small ? 23.0F : 0.0F);
  const float f = mantissa - 1.0F;
  const float square = f * f;
  float p = 7.0376836292e-2F;
  p = p * f - 1.1514610310e-1F;
  p = p * f + 1.1676998740e-1F;
  p = p * f - 1.2420140846e-1F;
  p = p * f + 1.4249322787e-1F;
  p = p * f - 1.6668057665e-1F;
  p = p * f + 2.0000714765e-1F;
  p = p * f - 2.4999993993e-1F;
  p = p * f + 3.3333331174e-1F;
  const float low = (p * f * square + n * ln2_low) - 0.5F * square;
  const float finite = (f + low) + n * ln2_high;
  const float positive = x < infinity ? finite : x;  // infinity, NaN
  const float known = x == 0.0F ? -infinity : positive;
  return x < 0.0F ? std::numeric_limits<float>::quiet_NaN() : known;
}

// log(1 + x): what 1 + x loses by rounding is put back to the first order.
TRAINYARD_BOTH inline float log1p_float(float x) {
  const float u = 1.0F + x;
  const float lost = x - (u - 1.0F);
  const float corrected = log_float(u) + lost / u;
  const float value = u == 1.0F ? x : corrected;
  const bool is_at_end = u == 0.0F || u == std::numeric_limits<float>::infinity();
  return is_at_end ? log_float(u) : value;
}

// e^x - 1; above 88.3 as exp_float. e^x - 1 = 2^n (e^r - 1) + (2^n - 1).
TRAINYARD_BOTH inline float expm1_float(float x) {
  const Exponential parts = exponential_parts(x);
  const float value = parts.scale * parts.less_one + (parts.scale - 1.0F);
  return x < exp_lowest ? -1.0F : value;
}

// The standard normal distribution at x.
struct NormalAt {
  float below;    // the probability of a value below x
  float density;  // 1 / sqrt(2 pi) e^(-x^2 / 2)
};

// The tail beyond |x| is e^(-x^2 / 2) u P(u), u = 1 / (1 + |x| / 4), with a polynomial fitted to
// Mills' ratio over |x| <= 14 (relative error 6e-8): also the least tails keep their digits.
TRAINYARD_BOTH inline NormalAt normal_at(float x) {
  const float e = exp_float(-0.5F * (x * x));
  const float u = 1.0F / (1.0F + 0.25F * std::fabs(x));
  float p = 0.0257235808F;
  p = p * u - 0.152809864F;
  p = p * u + 0.296123148F;
  p = p * u - 0.205784996F;
  p = p * u + 0.20175972F;
  p = p * u + 0.0329271937F;
  p = p * u + 0.103746895F;
  p = p * u + 0.0985168115F;
  p = p * u + 0.0997974833F;
  const float tail = e * (p * u);
  return {.below = x < 0.0F ? tail : 1.0F - tail, .density = 0.398942280F * e};
}

}  // namespace trainyard::runtime
