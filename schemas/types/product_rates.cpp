#include "schemas/types/product_rates.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "schemas/types/precision_names.h"

namespace trainyard {
namespace {

// "250", "31", "3.1", "0.031": more digits would promise more than a measurement holds.
std::string with_two_digits(double number) {
  std::array<char, 64> text{};
  const auto write = [&text](double value, std::chars_format format, int digits) {
    const auto end =
        std::to_chars(text.data(), text.data() + text.size(), value, format, digits).ptr;
    return std::string(text.data(), end);
  };
  const std::string rounded = write(number, std::chars_format::scientific, 1);  // "2.5e+02"
  const char* const end = rounded.data() + rounded.size();
  double value = 0;
  std::from_chars(rounded.data(), end, value);
  const std::size_t exponent_at = rounded.find('e') + 1;
  const std::size_t sign = rounded[exponent_at] == '+' ? 1 : 0;  // which from_chars does not take
  int exponent = 0;
  std::from_chars(rounded.data() + exponent_at + sign, end, exponent);
  return write(value, std::chars_format::fixed, std::clamp(1 - exponent, 0, 40));
}

}  // namespace

std::string product_rate_words(const ProductRates& rates) {
  std::string words;
  for (const auto& [precision, tflops] : rates) {
    if (!is_product_rate(tflops)) continue;
    const bool is_first = words.empty();
    words += (is_first ? "" : ", ") + with_two_digits(tflops) + (is_first ? " TFLOP/s" : "");
    words += " in " + std::string(find_name(precision_names, precision));
  }
  return words;
}

std::string products_make(std::int64_t gpus, const ProductRates& rates) {
  const std::string words = product_rate_words(rates);
  if (words.empty()) return "";
  return (gpus > 1 ? "; the products of each make " : "; its products make ") + words;
}

}  // namespace trainyard
