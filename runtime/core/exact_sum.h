// The exact sum of numbers that are 0 or more, rounded once, when it is read: whatever the order
// and however the numbers are divided, the result has the same bits. (U. Kulisch, Computer
// Arithmetic and Validity, 2008: a fixed-point register as wide as the range of its addends.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/core/exact_register.h"

namespace trainyard::runtime {

class ExactSum {
 public:
  static constexpr std::size_t words = ExactRegister::words;
  using Words = std::array<std::uint64_t, words>;

  ExactSum() = default;
  // As another's words_of() has them.
  explicit ExactSum(const Words& register_words) : words_(register_words) {}

  // A multiple of 2^-298, as are squares of floats and their sums in double, below 2^298; what is
  // no such number (infinite, NaN, negative) makes the sum NaN for good.
  void add(double value);
  ExactSum& operator+=(const ExactSum& more);

  // The nearest double, or NaN.
  [[nodiscard]] double value() const;
  [[nodiscard]] const Words& words_of() const { return words_; }
  bool operator==(const ExactSum&) const = default;

 private:
  Words words_{};  // the last has no number in it, but whether this is NaN
};

}  // namespace trainyard::runtime
