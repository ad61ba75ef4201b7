// The arguments of one layer, loss or metric, read by its rules. What is at fault is noted and
// counts as not known, so that all else is looked at all the same.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/model/argument_rule.h"
#include "schemas/model/facts.h"
#include "schemas/model/fault_list.h"
#include "schemas/model/shape.h"
#include "schemas/model/written.h"

namespace trainyard::model {

using Pair = std::array<std::int64_t, 2>;  // height, width

// Beyond these an argument is refused before it is copied once for each expansion of its layer.
inline constexpr std::size_t arguments_max = 32;
inline constexpr std::size_t list_items_max = 16;
inline constexpr std::size_t argument_text_max = 256;

// Whether the value is small enough for any argument.
bool is_small(const Value& value);

// What is read, and where faults go.
struct Reading {
  std::string_view op;  // for sentences: "dense"
  const Arguments& written;
  const std::vector<std::string>& broken;  // arguments that are noted already
  const Place& place;
  const Facts& facts;
  FaultList& faults;
};

class Given {
 public:
  Given(const ArgumentRules& rules, const Reading& reading);

  // Each is for arguments whose rule has that type; asking for others is our own mistake.
  // Nothing: not known, not there, or at fault.
  [[nodiscard]] Count integer(std::string_view name) const;
  [[nodiscard]] std::optional<double> number(std::string_view name) const;
  [[nodiscard]] bool flag(std::string_view name) const;  // at fault: false
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] std::optional<Pair> pair(std::string_view name) const;
  [[nodiscard]] std::optional<Sizes> integers(std::string_view name) const;
  [[nodiscard]] const Value* init(std::string_view name) const;
  [[nodiscard]] bool is_known(std::string_view name) const;

  void set(std::string_view name, Value value);  // what an op has worked out

  // All that are known, in the order of the rules.
  [[nodiscard]] const Arguments& values() const { return values_; }

 private:
  void read(const ArgumentRule& rule, const Reading& reading);
  [[nodiscard]] const Value* find_value(std::string_view name) const;

  Arguments values_;
};

}  // namespace trainyard::model
