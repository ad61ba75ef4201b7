// Division by a number that is known before a kernel runs, as a multiplication: T. Granlund and
// P. Montgomery, "Division by invariant integers using multiplication", PLDI 1994. Exact for
// dividends from 0 to 2^31 - 1.
#pragma once

#include <bit>
#include <cstdint>

#include "runtime/math/elements/both.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

inline constexpr std::int64_t fast_division_max = INT32_MAX;

struct FastDivision {
  std::uint32_t divisor = 1;
  std::uint32_t multiplier = (1U << 31) + 1;
  std::uint32_t shift = 31;

  [[nodiscard]] TRAINYARD_BOTH std::int32_t quotient(std::int32_t dividend) const {
    const std::uint64_t product =
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(dividend)) * multiplier;
    return static_cast<std::int32_t>(product >> shift);
  }

  // Of any dividend that is not negative; slow beyond 2^31 - 1.
  [[nodiscard]] TRAINYARD_BOTH std::int64_t quotient_of(std::int64_t dividend) const {
    if (dividend <= fast_division_max) return quotient(static_cast<std::int32_t>(dividend));
    return dividend / divisor;
  }
};

// Whoever divides by zero has nothing to divide: by one instead.
inline FastDivision fast_division(std::int64_t by) {
  ENSURE(by >= 0 && by <= fast_division_max);
  const auto divisor = static_cast<std::uint32_t>(by < 1 ? 1 : by);
  const auto bits = static_cast<std::uint32_t>(std::bit_width(divisor - 1));  // 2^bits >= divisor
  const std::uint64_t power = std::uint64_t{1} << (31 + bits);
  return {.divisor = divisor,
          .multiplier = static_cast<std::uint32_t>(power / divisor + 1),
          .shift = 31 + bits};
}

}  // namespace trainyard::runtime
