// Reading a JSON object field by field. Every fault is noted with its pointer and reading goes on,
// so that the user hears of all of them at once; what is at fault keeps its default.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/id.h"
#include "schemas/types/names.h"
#include "schemas/wire/fault.h"
#include "schemas/wire/json_text.h"

namespace trainyard {

// A value within a document, and where faults with it are noted.
struct JsonPlace {
  const nlohmann::json& value;
  std::string pointer;
  std::vector<Fault>& faults;

  void fault(std::string message, FaultKind kind = FaultKind::wrong) const {
    faults.push_back({pointer, std::move(message), kind});
  }
};

// Both ends included.
struct IntegerRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
struct NumberRange {
  double least = 0;
  double most = 0;
};

// What a text may be: its length, and which bytes.
struct TextRule {
  std::size_t least = 0;  // characters (code points), as JSON Schema counts them
  std::size_t most = 0;
  bool (*allows)(char) = nullptr;
  std::string_view allowed;  // in words: "letters, digits, '.', '_' and '-'"
};
bool is_printable(char byte);     // no control characters; UTF-8 as it is
bool is_label_letter(char byte);  // id letters and '/'

// One word: names of data sets and metrics.
constexpr TextRule name_rule(std::size_t most) {
  return {1, most, is_id_letter, "letters, digits, '.', '_' and '-'"};
}
// Keys of labels.
constexpr TextRule label_rule(std::size_t most) {
  return {1, most, is_label_letter, "letters, digits, '.', '_', '-' and '/'"};
}
constexpr TextRule printable_rule(std::size_t least, std::size_t most) {
  return {least, most, is_printable, "no control characters"};
}

// Each of these notes a fault and returns nothing where the value is not what is asked for. 1.0 is
// an integer too.
std::optional<std::int64_t> read_integer(const JsonPlace& place, IntegerRange range);
std::optional<double> read_number(const JsonPlace& place, NumberRange range);
std::optional<std::string> read_text(const JsonPlace& place, const TextRule& rule);

// What it means that a field is not there.
enum class Absence { keeps_default, is_a_fault };

class Fields {
 public:
  // A value that is not an object is noted; all its fields are absent then.
  explicit Fields(const JsonPlace& place, Absence absence = Absence::keeps_default);
  // A value that is no object is short for an object with that one field: "mlp" for {"name":
  // "mlp"}.
  Fields(const JsonPlace& place, std::string_view short_form_of);

  // The field where it is there; a null counts as absent only in the optional_... readers.
  std::optional<JsonPlace> find(std::string_view name);
  // The same, and its absence is a fault.
  std::optional<JsonPlace> require(std::string_view name);

  void integer(std::string_view name, std::int64_t& out, IntegerRange range);
  void optional_integer(std::string_view name, std::optional<std::int64_t>& out,
                        IntegerRange range);
  void number(std::string_view name, double& out, NumberRange range);
  void boolean(std::string_view name, bool& out);
  void text(std::string_view name, std::string& out, const TextRule& rule);

  template <class Enum, std::size_t N>
  void choice(std::string_view name, Enum& out, const NameTable<Enum, N>& table) {
    const auto place = find(name);
    if (!place) return;
    const auto* text = place->value.template get_ptr<const std::string*>();
    if (const auto found = text != nullptr ? find_value(table, *text) : std::nullopt) {
      out = *found;
      return;
    }
    std::vector<std::string_view> names;
    for (const auto& [value, value_name] : table) names.push_back(value_name);
    refuse_choice(*place, names);
  }

  // Notes the fields that nobody has asked for, the first few by name.
  void refuse_others();

 private:
  static void refuse_choice(const JsonPlace& place, const std::vector<std::string_view>& names);
  void note_known(std::string_view name);
  std::string known_names() const;
  const nlohmann::json& object() const { return short_form_ ? *short_form_ : *object_; }

  const nlohmann::json* object_;
  std::unique_ptr<nlohmann::json> short_form_;  // set where the value was a short form
  std::string pointer_;
  std::vector<Fault>& faults_;
  Absence absence_;
  std::vector<std::string> known_;
};

// The rule of a map's values and keys, and how many there may be.
struct TextMapRule {
  std::size_t entries_max = 0;
  TextRule key;
  TextRule value;
};
std::map<std::string, std::string> read_text_map(const JsonPlace& place, const TextMapRule& rule);

// Numbers by name. Those that JSON cannot say travel as "nan", "inf" and "-inf".
std::map<std::string, double> read_number_map(const JsonPlace& place);
nlohmann::json number_map_to_json(const std::map<std::string, double>& numbers);

}  // namespace trainyard
