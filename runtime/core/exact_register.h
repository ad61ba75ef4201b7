// The words of an exact sum (exact_sum.h), and how a number is added to them: by a CPU, and by the
// kernels of a GPU, of which each thread has a register of its own.
#pragma once

#include <bit>
#include <cstdint>

#include "runtime/core/both.h"

namespace trainyard::runtime {

struct ExactRegister {
  static constexpr int words = 11;  // of 64 bits, the least significant first
  static constexpr int nan_word = words - 1;
  static constexpr int lowest_bit = -298;  // of the first word: what it is worth, as a power of two
  static constexpr int word_bits = 64;
  static constexpr int highest_bit = nan_word * word_bits + lowest_bit;

  static TRAINYARD_BOTH constexpr void add_at(std::uint64_t* to, int word, std::uint64_t value) {
    while (value != 0 && word < nan_word) {
      to[word] += value;
      value = to[word] < value ? 1 : 0;  // the carry
      ++word;
    }
    if (value != 0) to[nan_word] = 1;  // more than any sum of floats' squares is
  }

  // As ExactSum::add.
  static TRAINYARD_BOTH constexpr void add(std::uint64_t* to, double value) {
    constexpr int mantissa_bits = 52;  // behind the leading one
    constexpr int exponent_bias = 1023;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    if (bits << 1 == 0) return;                                    // zero
    const int exponent = static_cast<int>(bits >> mantissa_bits);  // with the sign above it
    const int at_leading_one = exponent - exponent_bias;
    // Negative, infinite, NaN, too large, and so small that its first bits lie below the register.
    const bool is_out = exponent <= 0 || exponent > 2 * exponent_bias ||
                        at_leading_one >= highest_bit || at_leading_one < lowest_bit;
    if (is_out) {
      to[nan_word] = 1;
      return;
    }
    constexpr std::uint64_t leading_one = std::uint64_t{1} << mantissa_bits;
    std::uint64_t mantissa = (bits & (leading_one - 1)) | leading_one;
    int at = at_leading_one - mantissa_bits - lowest_bit;
    if (at < 0) {  // bits below the register are zeros
      if ((mantissa & ((std::uint64_t{1} << -at) - 1)) != 0) {
        to[nan_word] = 1;
        return;
      }
      mantissa >>= -at;
      at = 0;
    }
    const int word = at / word_bits;
    const int shift = at % word_bits;
    add_at(to, word, mantissa << shift);
    if (shift > 0) add_at(to, word + 1, mantissa >> (word_bits - shift));
  }
};

}  // namespace trainyard::runtime
