#include "schemas/model/sentence.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "schemas/base/utf8.h"

namespace trainyard::model {
namespace {

constexpr std::size_t quoted_bytes_max = 80;
constexpr std::size_t listed_max = 24;

// Letters to put in, take out or change until one is the other. Both are short.
std::size_t distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < right.size(); ++j) {
      const std::size_t above = row[j + 1];
      const std::size_t changed = diagonal + (left[i] == right[j] ? 0 : 1);
      row[j + 1] = std::min({changed, above + 1, row[j] + 1});
      diagonal = above;
    }
  }
  return row[right.size()];
}

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
  if (text.size() > name_letters_max || names.empty()) return "";
  const auto nearest =
      std::ranges::min(names, {}, [&](std::string_view name) { return distance(text, name); });
  const std::size_t far = std::max<std::size_t>(nearest.size() / 3, 1);
  if (distance(text, nearest) > far) return "";
  return "; did you mean " + quoted(nearest) + '?';
}

}  // namespace trainyard::model
