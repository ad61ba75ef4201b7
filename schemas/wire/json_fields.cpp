#include "schemas/wire/json_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "schemas/base/near_name.h"

namespace trainyard {
namespace {

using nlohmann::json;

const json& empty_object() {
  static const json empty = json::object();
  return empty;
}

std::string range_in_words(const std::string& least, const std::string& most) {
  return "from " + least + " to " + most;
}

// The integer that a JSON number says, if it says one that fits.
std::optional<std::int64_t> integer_of(const json& value) {
  constexpr double exact_max = 9007199254740992.0;  // 2^53: beyond it doubles skip integers
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return std::nullopt;
    }
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (std::trunc(number) == number && std::abs(number) <= exact_max) {
      return static_cast<std::int64_t>(number);
    }
  }
  return std::nullopt;
}

std::string rule_in_words(const TextRule& rule) {
  return "must be a text of " + std::to_string(rule.least) + " to " + std::to_string(rule.most) +
         " characters (" + std::string(rule.allowed) + ")";
}

std::size_t count_characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

bool follows(const std::string& text, const TextRule& rule) {
  const std::size_t length = count_characters(text);
  return length >= rule.least && length <= rule.most && std::ranges::all_of(text, rule.allows);
}

std::optional<double> special_number(const json& value) {
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

}  // namespace

bool is_printable(char byte) {
  const auto code = static_cast<unsigned char>(byte);
  return code >= 0x20 && code != 0x7F;
}

bool is_label_letter(char byte) { return is_id_letter(byte) || byte == '/'; }

std::optional<std::int64_t> read_integer(const JsonPlace& place, IntegerRange range) {
  const auto number = integer_of(place.value);
  if (number && *number >= range.least && *number <= range.most) return number;
  place.fault("must be an integer " +
              range_in_words(std::to_string(range.least), std::to_string(range.most)) + ", got " +
              describe(place.value));
  return std::nullopt;
}

std::optional<double> read_number(const JsonPlace& place, NumberRange range) {
  if (place.value.is_number()) {
    const auto number = place.value.get<double>();
    if (number >= range.least && number <= range.most) return number;
  }
  place.fault("must be a number " +
              range_in_words(describe(json(range.least)), describe(json(range.most))) + ", got " +
              describe(place.value));
  return std::nullopt;
}

std::optional<std::string> read_text(const JsonPlace& place, const TextRule& rule) {
  const auto* text = place.value.get_ptr<const std::string*>();
  if (text != nullptr && follows(*text, rule)) return *text;
  place.fault(rule_in_words(rule) + ", got " + describe(place.value));
  return std::nullopt;
}

Fields::Fields(const JsonPlace& place, Absence absence)
    : object_(&place.value), pointer_(place.pointer), faults_(place.faults), absence_(absence) {
  if (object_->is_object()) return;
  place.fault("must be an object, got " + describe(place.value));
  object_ = &empty_object();
  absence_ = Absence::keeps_default;
}

Fields::Fields(const JsonPlace& place, std::string_view short_form_of)
    : object_(&place.value),
      pointer_(place.pointer),
      faults_(place.faults),
      absence_(Absence::keeps_default) {
  if (object_->is_object()) return;
  short_form_ = std::make_unique<json>(json::object());
  (*short_form_)[std::string(short_form_of)] = place.value;
}

// A field may be looked for more than once.
void Fields::note_known(std::string_view name) {
  if (std::ranges::find(known_, name) == known_.end()) known_.emplace_back(name);
}

std::optional<JsonPlace> Fields::find(std::string_view name) {
  if (absence_ == Absence::is_a_fault) return require(name);
  note_known(name);
  const auto found = object().find(name);
  if (found == object().end()) return std::nullopt;
  return JsonPlace{*found, short_form_ ? pointer_ : child_pointer(pointer_, name), faults_};
}

std::optional<JsonPlace> Fields::require(std::string_view name) {
  note_known(name);
  const auto found = object().find(name);
  if (found == object().end()) {
    if (object_ != &empty_object()) {
      faults_.push_back({child_pointer(pointer_, name), "is required"});
    }
    return std::nullopt;
  }
  return JsonPlace{*found, short_form_ ? pointer_ : child_pointer(pointer_, name), faults_};
}

void Fields::integer(std::string_view name, std::int64_t& out, IntegerRange range) {
  if (const auto place = find(name)) out = read_integer(*place, range).value_or(out);
}

void Fields::optional_integer(std::string_view name, std::optional<std::int64_t>& out,
                              IntegerRange range) {
  const auto place = find(name);
  if (!place) return;
  out = place->value.is_null() ? std::nullopt : read_integer(*place, range);
}

void Fields::number(std::string_view name, double& out, NumberRange range) {
  if (const auto place = find(name)) out = read_number(*place, range).value_or(out);
}

void Fields::boolean(std::string_view name, bool& out) {
  const auto place = find(name);
  if (!place) return;
  if (place->value.is_boolean()) {
    out = place->value.get<bool>();
  } else {
    place->fault("must be true or false, got " + describe(place->value));
  }
}

void Fields::text(std::string_view name, std::string& out, const TextRule& rule) {
  const auto place = find(name);
  if (!place) return;
  if (auto text = read_text(*place, rule)) out = *std::move(text);
}

std::string Fields::known_names() const {
  std::string names;
  for (const std::string& name : known_) names += (names.empty() ? "" : ", ") + name;
  return names;
}

void Fields::refuse_choice(const JsonPlace& place, const std::vector<std::string_view>& names) {
  std::string all;
  for (const std::string_view name : names) {
    all += all.empty() ? "" : ", ";
    all += name;
  }
  const auto* text = place.value.get_ptr<const std::string*>();
  place.fault("must be one of " + all + ", got " + describe(place.value) +
              (text != nullptr ? did_you_mean(*text, names) : ""));
}

void Fields::refuse_others() {
  constexpr std::size_t named_max = 20;  // so that the answer does not outgrow the question
  std::size_t unknown = 0;
  for (const auto& [name, value] : object().items()) {
    if (std::ranges::find(known_, name) != known_.end()) continue;
    if (++unknown > named_max) continue;
    faults_.push_back(
        {child_pointer(pointer_, name), "is not a field here; there are: " + known_names() +
                                            did_you_mean(name, {known_.begin(), known_.end()})});
  }
  if (unknown > named_max) {
    faults_.push_back({pointer_, "has " + std::to_string(unknown - named_max) +
                                     " more fields that are none here"});
  }
}

std::map<std::string, std::string> read_text_map(const JsonPlace& place, const TextMapRule& rule) {
  std::map<std::string, std::string> texts;
  if (!place.value.is_object()) {
    place.fault("must be an object, got " + describe(place.value));
    return texts;
  }
  if (place.value.size() > rule.entries_max) {
    place.fault("must have at most " + std::to_string(rule.entries_max) + " entries, got " +
                std::to_string(place.value.size()));
    return texts;
  }
  for (const auto& [key, value] : place.value.items()) {
    const JsonPlace entry{value, child_pointer(place.pointer, key), place.faults};
    if (!follows(key, rule.key)) {
      entry.fault("the key " + rule_in_words(rule.key));
    } else if (auto text = read_text(entry, rule.value)) {
      texts.emplace(key, *std::move(text));
    }
  }
  return texts;
}

std::map<std::string, double> read_number_map(const JsonPlace& place) {
  constexpr std::size_t numbers_max = 10'000;
  constexpr TextRule key_rule = label_rule(200);
  std::map<std::string, double> numbers;
  if (!place.value.is_object() || place.value.size() > numbers_max) {
    place.fault("must be an object of at most " + std::to_string(numbers_max) + " numbers, got " +
                describe(place.value));
    return numbers;
  }
  for (const auto& [key, value] : place.value.items()) {
    if (!follows(key, key_rule)) {
      place.fault("a name " + rule_in_words(key_rule) + ", got " + describe(json(key)));
    } else if (value.is_number()) {
      numbers.emplace(key, value.get<double>());
    } else if (const auto special = special_number(value)) {
      numbers.emplace(key, *special);
    } else {
      place.faults.push_back(
          {child_pointer(place.pointer, key),
           "must be a number, \"nan\", \"inf\" or \"-inf\", got " + describe(value)});
    }
  }
  return numbers;
}

json number_map_to_json(const std::map<std::string, double>& numbers) {
  json object = json::object();
  for (const auto& [name, number] : numbers) {
    if (std::isnan(number)) {
      object[name] = "nan";
    } else if (std::isinf(number)) {
      object[name] = number > 0 ? "inf" : "-inf";
    } else {
      object[name] = number;
    }
  }
  return object;
}

}  // namespace trainyard
