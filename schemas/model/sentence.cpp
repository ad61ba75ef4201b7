#include "schemas/model/sentence.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>

#include "schemas/base/near_name.h"
#include "schemas/base/utf8.h"

namespace trainyard::model {
namespace {

constexpr std::size_t quoted_bytes_max = 80;
constexpr std::size_t listed_max = 24;

}  // namespace

std::string with_commas(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string quoted(std::string_view text) {
  std::string plain(text.substr(0, quoted_bytes_max));
  std::ranges::replace_if(
      plain, [](char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; },
      '?');
  std::string sentence(1, '"');
  sentence += to_valid_utf8(plain);
  if (text.size() > quoted_bytes_max) sentence += "…";
  sentence += '"';
  return sentence;
}

std::string dataset_words(std::string_view name) {
  return name.empty() ? "the data set" : "the data set " + quoted(name);
}

std::string number_text(double number) {
  char digits[32];
  if (std::abs(number) < 1e15 && number == std::trunc(number)) {
    return std::to_string(static_cast<std::int64_t>(number));
  }
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number);
  return error == std::errc() ? std::string(digits, end) : "?";
}

std::string describe(const Value& value) {
  if (const double* number = value.number()) return number_text(*number);
  if (const bool* flag = value.flag()) return *flag ? "true" : "false";
  if (const std::string* text = value.text()) return quoted(*text);
  return value.list() != nullptr ? "a list" : "an object";
}

std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), listed_max); ++i) {
    if (i > 0) text += ", ";
    text += names[i];
  }
  if (names.size() > listed_max) {
    text += " and ";
    text += with_commas(static_cast<std::int64_t>(names.size() - listed_max));
    text += " more";
  }
  return text;
}

std::string meant(std::string_view text, const std::vector<std::string_view>& names) {
  const auto near = near_name(text, names);
  return near ? "; did you mean " + quoted(*near) + '?' : "";
}

}  // namespace trainyard::model
