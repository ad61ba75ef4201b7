// JSON text <-> nlohmann::json, guarded: no exception gets out, nesting is bounded before it costs
// stack, the number of values before it costs memory, and a key that comes twice in one object is
// refused instead of silently losing one of its values.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schemas/base/json_pointer.h"
#include "schemas/base/result.h"
#include "schemas/wire/fault.h"

namespace trainyard {

inline constexpr int json_depth_max = 32;
inline constexpr std::size_t json_values_max = 1'000'000;

// A text that is JSON. Where it has faults `value` is what is left of it, good to look for further
// faults in and for nothing else.
struct JsonDocument {
  nlohmann::json value;
  // Too deep, too much, a key twice (the first stays), a number that no double can hold.
  std::vector<Fault> faults;
  std::vector<std::string> left_out;  // pointers of those in whose place there is a null
  bool is_cut = false;                // there is too much for even that
};

using ParsedJson = std::variant<JsonDocument, NotJson>;

// NotJson: the grammar or the encoding (UTF-8) is broken.
ParsedJson parse_json_text(std::string_view text);

// The value of a document without any fault; `document` names it in the error ("task.json").
Result<nlohmann::json> parse_json(std::string_view text, std::string_view document);

// Compact, keys sorted. Bytes that are not UTF-8 become U+FFFD.
std::string to_text(const nlohmann::json& value);
// The same with its keys as they are.
std::string to_ordered_text(const nlohmann::ordered_json& value);

// The value for an error message: `"abc"`, `0`, `an array`; long texts are cut.
std::string describe(const nlohmann::json& value);

}  // namespace trainyard
