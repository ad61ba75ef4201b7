#include "runtime/core/exact_sum.h"

#include <bit>
#include <cmath>
#include <limits>

namespace trainyard::runtime {
namespace {

constexpr int lowest_bit = -298;  // of the first word: what it is worth, as a power of two
constexpr int word_bits = 64;
constexpr std::size_t nan_word = ExactSum::words - 1;
constexpr int highest_bit = static_cast<int>(nan_word) * word_bits + lowest_bit;

}  // namespace

void ExactSum::add_at(std::size_t word, std::uint64_t value) {
  while (value != 0 && word < nan_word) {
    words_[word] += value;
    value = words_[word] < value ? 1 : 0;  // the carry
    ++word;
  }
  if (value != 0) words_[nan_word] = 1;  // more than any sum of floats' squares is
}

void ExactSum::add(double value) {
  if (value == 0) return;
  constexpr int mantissa_bits = std::numeric_limits<double>::digits;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  const int low = exponent - mantissa_bits;              // of the mantissa's last bit
  if (!(value > 0) || !std::isfinite(value) || exponent > highest_bit) {
    words_[nan_word] = 1;
    return;
  }
  auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, mantissa_bits));
  int at = low - lowest_bit;
  if (at < 0) {  // bits below the register are zeros
    if (-at >= word_bits || (mantissa & ((std::uint64_t{1} << -at) - 1)) != 0) {
      words_[nan_word] = 1;
      return;
    }
    mantissa >>= -at;
    at = 0;
  }
  const auto word = static_cast<std::size_t>(at / word_bits);
  const int shift = at % word_bits;
  add_at(word, mantissa << shift);
  if (shift > 0) add_at(word + 1, mantissa >> (word_bits - shift));
}

ExactSum& ExactSum::operator+=(const ExactSum& more) {
  for (std::size_t word = 0; word < nan_word; ++word) add_at(word, more.words_[word]);
  if (more.words_[nan_word] != 0) words_[nan_word] = 1;
  return *this;
}

double ExactSum::value() const {
  if (words_[nan_word] != 0) return std::numeric_limits<double>::quiet_NaN();
  std::size_t top = nan_word;
  while (top > 0 && words_[top - 1] == 0) --top;
  if (top == 0) return 0;
  const std::size_t first = top - 1;
  const int zeros = std::countl_zero(words_[first]);
  std::uint64_t bits = words_[first] << zeros;
  bool is_more = false;  // than these 64 bits say
  if (zeros > 0 && first > 0) bits |= words_[first - 1] >> (word_bits - zeros);
  if (first > 0) is_more = (words_[first - 1] << zeros) != 0;
  for (std::size_t word = 0; word + 1 < first; ++word) is_more = is_more || words_[word] != 0;
  // The last of 64 bits is below half of what a double rounds: it may say that there is more.
  if (is_more) bits |= 1;
  const int low = static_cast<int>(first) * word_bits - zeros + lowest_bit;
  return std::ldexp(static_cast<double>(bits), low);
}

}  // namespace trainyard::runtime
