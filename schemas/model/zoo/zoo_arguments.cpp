#include "schemas/model/zoo/zoo_arguments.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/base/json_pointer.h"
#include "schemas/base/near_name.h"
#include "schemas/model/init.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

constexpr std::size_t field_letters_max = 255;

// 64, 0.5: for sentences, as people write numbers.
std::string value_in_words(const Value& value) {
  constexpr std::size_t shown_max = 60;
  if (const double* number = value.number()) return number_text(*number);
  if (const bool* flag = value.flag()) return *flag ? "true" : "false";
  if (value.list() != nullptr) return "a list";
  if (value.object() != nullptr) return "an object";
  const std::string& text = *value.text();
  if (text.size() > shown_max) return "a text of " + std::to_string(text.size()) + " bytes";
  std::string quoted = "\"";
  quoted.append(text).append(1, '"');
  return quoted;
}

std::string range_in_words(const ZooArgument& argument) {
  return "from " + number_text(argument.least) + " to " + number_text(argument.most);
}

bool is_in_range(const ZooArgument& argument, const Value& value) {
  const double* number = value.number();
  if (number == nullptr || !(*number >= argument.least && *number <= argument.most)) return false;
  return argument.kind == ArgumentKind::number || std::trunc(*number) == *number;
}

std::string choices_in_words(const ZooArgument& argument) {
  return "must be one of " + listed(argument.choices);
}

// Both at once, in the place of the argument itself or of an item of it.
void note(const CallPlace& place, std::string pointer, std::string rule, const Value& value) {
  rule.append(", got ").append(value_in_words(value));
  place.faults.push_back({std::move(pointer), std::move(rule)});
}

bool check_integers(const ZooArgument& argument, const Value& value, const CallPlace& place) {
  const std::string pointer = child_pointer(place.pointer, argument.name);
  const Value::List* list = value.list();
  if (list == nullptr || list->size() > argument.items_max) {
    const std::string rule =
        "must be a list of at most " + std::to_string(argument.items_max) + " integers";
    const std::string got =
        list == nullptr ? value_in_words(value) : "a list of " + std::to_string(list->size());
    place.faults.push_back({pointer, rule + ", got " + got});
    return false;
  }
  bool is_right = true;
  for (std::size_t i = 0; i < list->size(); ++i) {
    if (is_in_range(argument, (*list)[i])) continue;
    note(place, child_pointer(pointer, std::to_string(i)),
         "must be an integer " + range_in_words(argument), (*list)[i]);
    is_right = false;
  }
  return is_right;
}

// What is wrong with a value that is not a list: the rule it breaks; "" = nothing.
std::string broken_rule(const ZooArgument& argument, const Value& value) {
  const std::string* text = value.text();
  switch (argument.kind) {
    case ArgumentKind::integer:
      return is_in_range(argument, value) ? "" : "must be an integer " + range_in_words(argument);
    case ArgumentKind::number:
      return is_in_range(argument, value) ? "" : "must be a number " + range_in_words(argument);
    case ArgumentKind::flag: return value.flag() != nullptr ? "" : "must be true or false";
    case ArgumentKind::choice: {
      const bool is_one =
          text != nullptr && std::ranges::find(argument.choices, *text) != argument.choices.end();
      return is_one ? "" : choices_in_words(argument);
    }
    case ArgumentKind::field: {
      const bool may_be_none = argument.standard == Value(std::string());
      const bool may_be =
          text != nullptr && (may_be_none || !text->empty()) && text->size() <= field_letters_max;
      return may_be ? "" : "must be the name of a field of the data set";
    }
    case ArgumentKind::init:
    case ArgumentKind::integers: break;
  }
  return "";
}

bool check_init(const ZooArgument& argument, const Value& value, const CallPlace& place) {
  std::string below;
  const auto fault = fault_of_init(value, below);
  if (fault) place.faults.push_back({child_pointer(place.pointer, argument.name) + below, *fault});
  return !fault;
}

bool check_value(const ZooArgument& argument, const Value& value, const CallPlace& place) {
  if (argument.kind == ArgumentKind::init) return check_init(argument, value, place);
  if (argument.kind == ArgumentKind::integers) return check_integers(argument, value, place);
  std::string rule = broken_rule(argument, value);
  if (rule.empty()) return true;
  note(place, child_pointer(place.pointer, argument.name), std::move(rule), value);
  const std::string* text = value.text();
  if (argument.kind == ArgumentKind::choice && text != nullptr) {
    place.faults.back().message += did_you_mean(*text, argument.choices);
  }
  return false;
}

// The first few by name, so that the answer does not outgrow the question.
void refuse_others(const ZooModel& zoo_model, const Arguments& given, const CallPlace& place) {
  constexpr std::size_t named_max = 20;
  std::size_t unknown = 0;
  for (const auto& [name, value] : given) {
    if (std::ranges::find(zoo_model.arguments, name, &ZooArgument::name) !=
        zoo_model.arguments.end()) {
      continue;
    }
    if (++unknown > named_max) continue;
    std::vector<std::string_view> known;
    for (const ZooArgument& argument : zoo_model.arguments) known.push_back(argument.name);
    place.faults.push_back({child_pointer(place.pointer, name),
                            "is no argument of " + std::string(zoo_model.name) +
                                "; there are: " + listed(known) + did_you_mean(name, known)});
  }
  if (unknown > named_max) {
    place.faults.push_back(
        {std::string(place.pointer),
         "has " + std::to_string(unknown - named_max) + " more arguments that are none"});
  }
}

}  // namespace

ZooArguments check_arguments(const ZooModel& zoo_model, const Arguments& given,
                             const CallPlace& place) {
  Arguments checked;
  std::vector<std::string> is_given;
  for (const ZooArgument& argument : zoo_model.arguments) {
    const Value* value = find(given, argument.name);
    const bool is_taken = value != nullptr && check_value(argument, *value, place);
    std::string name(argument.name);
    if (is_taken) is_given.push_back(name);
    checked.push_back({name, from(name, is_taken ? *value : argument.standard)});
  }
  refuse_others(zoo_model, given, place);
  return {std::move(checked), std::move(is_given)};
}

const Value& ZooArguments::value(std::string_view name) const {
  const Value* found = find(checked_, name);
  ENSURE(found != nullptr);
  return *found;
}

double ZooArguments::number(std::string_view name) const {
  const double* number = value(name).number();
  ENSURE(number != nullptr);
  return *number;
}

std::int64_t ZooArguments::integer(std::string_view name) const {
  return static_cast<std::int64_t>(number(name));
}

bool ZooArguments::flag(std::string_view name) const {
  const bool* flag = value(name).flag();
  ENSURE(flag != nullptr);
  return *flag;
}

const std::string& ZooArguments::text(std::string_view name) const {
  const std::string* text = value(name).text();
  ENSURE(text != nullptr);
  return *text;
}

std::vector<std::int64_t> ZooArguments::integers(std::string_view name) const {
  const Value::List* list = value(name).list();
  ENSURE(list != nullptr);
  std::vector<std::int64_t> integers;
  for (const Value& item : *list) integers.push_back(static_cast<std::int64_t>(*item.number()));
  return integers;
}

bool ZooArguments::is_given(std::string_view name) const {
  return std::ranges::find(given_, name) != given_.end();
}

}  // namespace trainyard::model
