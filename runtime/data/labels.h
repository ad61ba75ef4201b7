// What a column of labels means: classes or real targets (the rule is in csv.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"

namespace trainyard::runtime {

// A finite number, whole cell. One that is nearer to 0 than any float is 0.
std::optional<float> parse_number(std::string_view cell);
// The same, and also what no float is: nan, inf, 1e400.
bool is_written_as_number(std::string_view cell);
// Digits alone.
std::optional<std::int64_t> parse_whole_number(std::string_view cell);

struct LabelCell {
  std::string text;
  std::int64_t line = 0;  // for messages
};

struct Labels {
  std::int64_t classes = 0;  // 0: targets
  std::vector<std::int32_t> labels;
  std::vector<float> targets;
  std::vector<std::string> names{};  // of the classes, where they are no numbers
};

// `invalid` where most labels are numbers and one is not: that is a slip, not a class; and where
// there is one class only.
Result<Labels> read_labels(std::span<const LabelCell> cells);

}  // namespace trainyard::runtime
