// What arguments an op, a loss or a metric takes: the rules that its table rows are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/model/written.h"

namespace trainyard::model {

inline constexpr std::int64_t size_max = 2'147'483'647;  // of one dimension
inline constexpr std::int64_t window_max = 65'536;       // of kernels, strides and paddings

enum class ArgumentType {
  size,     // a whole number, or a fact of the data set: "classes"
  integer,  // a whole number
  number,
  flag,
  choice,    // one of the words in `choices`
  pair,      // a whole number, or [height, width]
  padding,   // as pair, or "same"
  integers,  // a list of whole numbers, as many as there are axes at most
  axes,      // the same, or one whole number
  init,      // an initialiser
  name,      // of another layer
};

struct ArgumentRule {
  std::string_view name;
  ArgumentType type = ArgumentType::size;
  bool is_required = false;
  Value standard = Value("");  // where it is not there; "" = nothing
  double least = 0;            // both ends included
  double most = 0;
  std::vector<std::string_view> choices = {};
};
using ArgumentRules = std::vector<ArgumentRule>;

// Spelling for the tables.
inline ArgumentRule required_size(std::string_view name) {
  return {.name = name, .is_required = true, .least = 1, .most = static_cast<double>(size_max)};
}
inline ArgumentRule optional_size(std::string_view name) {
  return {.name = name, .least = 1, .most = static_cast<double>(size_max)};
}
inline ArgumentRule integer_or(std::string_view name, std::int64_t standard, std::int64_t least,
                               std::int64_t most) {
  return {.name = name,
          .type = ArgumentType::integer,
          .standard = standard,
          .least = static_cast<double>(least),
          .most = static_cast<double>(most)};
}
inline ArgumentRule number_or(std::string_view name, double standard, double least, double most) {
  return {.name = name,
          .type = ArgumentType::number,
          .standard = standard,
          .least = least,
          .most = most};
}
inline ArgumentRule flag_or(std::string_view name, Value standard) {
  return {.name = name, .type = ArgumentType::flag, .standard = std::move(standard)};
}
inline ArgumentRule choice_or(std::string_view name, Value standard,
                              std::vector<std::string_view> choices) {
  return {.name = name,
          .type = ArgumentType::choice,
          .standard = std::move(standard),
          .choices = std::move(choices)};
}
// "" as its standard: it has none, and must be there.
inline ArgumentRule pair_or(std::string_view name, Value standard) {
  const bool is_required = standard == Value("");
  return {.name = name,
          .type = ArgumentType::pair,
          .is_required = is_required,
          .standard = std::move(standard),
          .least = 1,
          .most = static_cast<double>(window_max)};
}
inline ArgumentRule padding_rule() {
  return {.name = "padding",
          .type = ArgumentType::padding,
          .standard = 0,
          .least = 0,
          .most = static_cast<double>(window_max)};
}
inline ArgumentRule init_rule(std::string_view name) {
  return {.name = name, .type = ArgumentType::init};
}

inline std::vector<std::string_view> names_of(const ArgumentRules& rules) {
  std::vector<std::string_view> names;
  names.reserve(rules.size());
  for (const ArgumentRule& rule : rules) names.push_back(rule.name);
  return names;
}

}  // namespace trainyard::model
