#include "runtime/core/exact_sum.h"

#include <bit>
#include <cmath>
#include <limits>

namespace trainyard::runtime {
namespace {

constexpr int word_bits = ExactRegister::word_bits;
constexpr std::size_t nan_word = ExactRegister::nan_word;

}  // namespace

void ExactSum::add(double value) { ExactRegister::add(words_.data(), value); }

ExactSum& ExactSum::operator+=(const ExactSum& more) {
  for (int word = 0; word < ExactRegister::nan_word; ++word) {
    ExactRegister::add_at(words_.data(), word, more.words_[static_cast<std::size_t>(word)]);
  }
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
  const int low = static_cast<int>(first) * word_bits - zeros + ExactRegister::lowest_bit;
  return std::ldexp(static_cast<double>(bits), low);
}

}  // namespace trainyard::runtime
