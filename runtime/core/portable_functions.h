// The arithmetic of portable_log, portable_exp and cos_of_turns (portable_math.h), which a GPU's
// kernels call, too. Who includes this is compiled without contraction; others call those.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "runtime/core/both.h"

namespace trainyard::runtime {

TRAINYARD_BOTH inline double log_of_double(double x) {
  if (!std::isfinite(x)) return x;
  constexpr std::uint64_t mantissa_bits = 0x000FFFFFFFFFFFFFULL;
  constexpr std::uint64_t exponent_of_one = 0x3FF0000000000000ULL;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto exponent = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  double mantissa = std::bit_cast<double>((bits & mantissa_bits) | exponent_of_one);
  if (mantissa > std::numbers::sqrt2) {
    mantissa *= 0.5;
    exponent += 1.0;
  }
  // log(m) = 2 atanh(s) = 2 s (1 + s^2/3 + s^4/5 + ...) with |s| <= 0.172: 12 terms reach 1e-19.
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = s * s;
  double sum = 0.0;
  for (int n = 23; n >= 1; n -= 2) sum = sum * square + 1.0 / n;
  return exponent * std::numbers::ln2 + 2.0 * s * sum;
}

// x = n ln 2 + r with |r| <= 0.3466, e^x = 2^n e^r. Of ln 2 the high part has so few bits that its
// product with n is exact.
TRAINYARD_BOTH inline double exp_of_double(double x) {
  constexpr double lowest = -708.0;
  constexpr double highest = 709.78;
  constexpr double ln2_high = 0x1.62e42fefap-1;
  constexpr double ln2_low = 0x1.cf79abc9e3b39p-40;
  constexpr double inverses[] = {0.0,     1.0,     1.0 / 2, 1.0 / 3,  1.0 / 4,  1.0 / 5,  1.0 / 6,
                                 1.0 / 7, 1.0 / 8, 1.0 / 9, 1.0 / 10, 1.0 / 11, 1.0 / 12, 1.0 / 13};
  if (x < lowest) return 0.0;
  if (x > highest) return std::numeric_limits<double>::infinity();
  if (std::isnan(x)) return x;
  const double n = std::floor(x * std::numbers::log2e + 0.5);
  const double r = (x - n * ln2_high) - n * ln2_low;
  // The series to r^13 / 13!: the next term is below 1e-17.
  double sum = 1.0;
  for (int i = 13; i >= 1; --i) sum = 1.0 + sum * r * inverses[i];
  // In two steps: 2^1024 alone would be infinite.
  const auto exponent = static_cast<std::int64_t>(n);
  const auto power = [](std::int64_t of) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(of + 1023) << 52);
  };
  const std::int64_t half = exponent / 2;
  return sum * power(half) * power(exponent - half);
}

// Of an angle of at most a quarter of pi.
TRAINYARD_BOTH inline double cos_of_small_angle(double x) {
  const double square = x * x;
  double sum = 1.0;
  for (int n = 18; n >= 2; n -= 2) sum = 1.0 - sum * square / (n * (n - 1));
  return sum;
}
TRAINYARD_BOTH inline double sin_of_small_angle(double x) {
  const double square = x * x;
  double sum = 1.0;
  for (int n = 19; n >= 3; n -= 2) sum = 1.0 - sum * square / (n * (n - 1));
  return x * sum;
}

TRAINYARD_BOTH inline double cos_of_double_turns(double turns) {
  const double quarters = std::floor(turns * 4.0 + 0.5);
  const double angle = (turns - quarters * 0.25) * (2.0 * std::numbers::pi);
  switch (static_cast<std::int64_t>(quarters) & 3) {
    case 0: return cos_of_small_angle(angle);
    case 1: return -sin_of_small_angle(angle);
    case 2: return -cos_of_small_angle(angle);
    default: return sin_of_small_angle(angle);
  }
}

}  // namespace trainyard::runtime
