#include "runtime/data/libsvm_line.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "runtime/data/labels.h"

namespace trainyard::runtime {
namespace {

constexpr std::string_view blanks = " \t\r\v\f";

// Names the place and what belongs there, and never what stands there: the file may hold what the
// user who reads this may not.
Error fault(std::string_view line, std::string_view at, const std::string& what) {
  return invalid("column " + std::to_string(at.data() - line.data() + 1) + ": " + what);
}

// Cuts the first word off `rest`; "" at the end.
std::string_view next_word(std::string_view& rest) {
  const std::size_t begin = rest.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  rest.remove_prefix(begin);
  const std::string_view word = rest.substr(0, rest.find_first_of(blanks));
  rest.remove_prefix(word.size());
  return word;
}

// A finite number, whole word.
std::optional<double> parse_real(std::string_view word) {
  if (word.starts_with('+')) {
    word.remove_prefix(1);
    if (word.starts_with('-')) return std::nullopt;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const bool whole = error == std::errc() && end == word.data() + word.size();
  if (!whole || !std::isfinite(static_cast<float>(value))) return std::nullopt;
  return value;
}

Result<std::int32_t> parse_column(std::string_view line, std::string_view index,
                                  const LibsvmExample& example) {
  if (index == "qid") {
    return fault(line, index, "query ids (qid:) are for ranking, which is not available");
  }
  const std::optional<std::int64_t> number = parse_whole_number(index);
  if (!number || *number > std::numeric_limits<std::int32_t>::max()) {
    return fault(line, index, "expected an index, a whole number up to 2147483647");
  }
  if (*number == 0) return fault(line, index, "indices count from 1");
  if (!example.columns.empty() && *number <= example.columns.back() + std::int64_t{1}) {
    return fault(line, index, "indices must ascend");
  }
  return static_cast<std::int32_t>(*number - 1);
}

Status append_element(std::string_view line, std::string_view word, LibsvmExample& example) {
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos) return fault(line, word, "expected index:value");
  TRY_ASSIGN(const std::int32_t column, parse_column(line, word.substr(0, colon), example));
  const std::string_view text = word.substr(colon + 1);
  const std::optional<double> value = parse_real(text);
  if (!value) return fault(line, text, "expected a value, a finite number");
  example.columns.push_back(column);
  example.values.push_back(static_cast<float>(*value));
  return ok();
}

}  // namespace

Result<bool> parse_libsvm_line(std::string_view line, LibsvmExample& example) {
  example.columns.clear();
  example.values.clear();
  std::string_view rest = line.substr(0, line.find('#'));
  const std::string_view label = next_word(rest);
  if (label.empty()) return false;
  const std::optional<double> number = parse_real(label);
  if (!number) return fault(line, label, "expected a label, a finite number");
  example.label = *number;
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest)) {
    TRY(append_element(line, word, example));
  }
  return true;
}

}  // namespace trainyard::runtime
