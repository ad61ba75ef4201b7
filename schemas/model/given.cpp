#include "schemas/model/given.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/model/init.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

struct Fact {
  std::string_view name;
  Count Facts::*value;
};
constexpr std::array facts_by_name{
    Fact{"classes", &Facts::classes}, Fact{"symbols", &Facts::symbols},
    Fact{"vocabulary", &Facts::vocabulary}, Fact{"features", &Facts::features}};

// One argument while it is read.
struct Item {
  const ArgumentRule& rule;
  const Reading& reading;

  void fault(std::string_view below, const std::string& message, const Value& value) const {
    std::string pointer(1, '/');
    pointer += rule.name;
    pointer += below;
    Place place = reading.place;
    if (!value.from.empty()) place.from = value.from;
    reading.faults.add(place, pointer, message);
  }
};

std::string range_text(const ArgumentRule& rule) {
  return "from " + number_text(rule.least) + " to " + number_text(rule.most);
}

std::optional<std::int64_t> as_integer(const ArgumentRule& rule, const Value& value) {
  const double* number = value.number();
  if (number == nullptr || !(*number >= rule.least && *number <= rule.most)) return std::nullopt;
  if (*number != std::trunc(*number)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<Value> read_fact(const Item& item, const Value& value, const Fact& fact) {
  const Facts& facts = item.reading.facts;
  if (const Count known = facts.*fact.value) {
    return is_known(*known) ? std::optional<Value>(*known) : std::nullopt;
  }
  std::vector<std::string_view> others;
  for (const Fact& other : facts_by_name) {
    if (facts.*other.value) others.push_back(other.name);
  }
  item.fault("",
             dataset_words(facts.dataset) + " has no " + quoted(fact.name) + " (it has" +
                 (others.empty() ? " none of these facts)" : ": " + listed(others) + ")"),
             value);
  return std::nullopt;
}

std::optional<Value> read_size(const Item& item, const Value& value) {
  if (const std::string* text = value.text()) {
    const auto fact = std::ranges::find(facts_by_name, std::string_view(*text), &Fact::name);
    if (fact != facts_by_name.end()) return read_fact(item, value, *fact);
  }
  if (const auto integer = as_integer(item.rule, value)) return Value(*integer);
  item.fault("",
             "must be a whole number " + range_text(item.rule) +
                 ", \"$name\", or one of classes, symbols, vocabulary, features; got " +
                 describe(value),
             value);
  return std::nullopt;
}

std::optional<Value> read_integer(const Item& item, const Value& value) {
  if (const auto integer = as_integer(item.rule, value)) return Value(*integer);
  item.fault("", "must be a whole number " + range_text(item.rule) + ", got " + describe(value),
             value);
  return std::nullopt;
}

std::optional<Value> read_number(const Item& item, const Value& value) {
  const double* number = value.number();
  if (number != nullptr && *number >= item.rule.least && *number <= item.rule.most) return value;
  item.fault("", "must be a number " + range_text(item.rule) + ", got " + describe(value), value);
  return std::nullopt;
}

std::optional<Value> read_flag(const Item& item, const Value& value) {
  if (value.flag() != nullptr) return value;
  item.fault("", "must be true or false, got " + describe(value), value);
  return std::nullopt;
}

std::optional<Value> read_choice(const Item& item, const Value& value) {
  const std::string* text = value.text();
  const auto& choices = item.rule.choices;
  if (text != nullptr && std::ranges::find(choices, *text) != choices.end()) return value;
  item.fault("",
             "must be one of " + listed(choices) + ", got " + describe(value) +
                 (text == nullptr ? "" : meant(*text, choices)),
             value);
  return std::nullopt;
}

// Each of a list; nothing where one is at fault.
std::optional<Value> read_items(const Item& item, const Value& value) {
  Value::List read;
  bool are_right = true;
  for (const Value& element : *value.list()) {
    if (const auto integer = as_integer(item.rule, element)) {
      read.emplace_back(*integer);
      continue;
    }
    std::string below(1, '/');
    below += std::to_string(&element - value.list()->data());
    item.fault(below,
               "must be a whole number " + range_text(item.rule) + ", got " + describe(element),
               element.from.empty() ? value : element);
    are_right = false;
  }
  return are_right ? std::optional<Value>(std::move(read)) : std::nullopt;
}

std::optional<Value> read_pair(const Item& item, const Value& value) {
  const bool may_be_same = item.rule.type == ArgumentType::padding;
  if (may_be_same && value == Value("same")) return value;
  if (value.list() != nullptr && value.list()->size() == 2) return read_items(item, value);
  if (const auto integer = as_integer(item.rule, value)) {
    return Value(Value::List{*integer, *integer});
  }
  item.fault("",
             "must be a whole number " + range_text(item.rule) + ", or two of them as [height, " +
                 "width]" + (may_be_same ? ", or \"same\"" : "") + "; got " + describe(value),
             value);
  return std::nullopt;
}

std::optional<Value> read_integers(const Item& item, const Value& value) {
  const bool may_be_one = item.rule.type == ArgumentType::axes;
  if (may_be_one) {
    if (const auto integer = as_integer(item.rule, value)) return Value(Value::List{*integer});
  }
  const Value::List* list = value.list();
  if (list != nullptr && !list->empty() && list->size() <= rank_max) {
    return read_items(item, value);
  }
  const std::string got =
      list != nullptr ? "a list of " + std::to_string(list->size()) : describe(value);
  item.fault("",
             "must be a list of 1 to " + std::to_string(rank_max) + " whole numbers, got " + got,
             value);
  return std::nullopt;
}

std::optional<Value> read_init(const Item& item, const Value& value) {
  std::string below;
  if (const auto message = fault_of_init(value, below)) {
    item.fault(below, *message, value);
    return std::nullopt;
  }
  return value;
}

std::optional<Value> read_name(const Item& item, const Value& value) {
  if (value.text() != nullptr && !value.text()->empty()) return value;
  item.fault("", "must be the name of a layer, got " + describe(value), value);
  return std::nullopt;
}

std::optional<Value> read_value(const Item& item, const Value& value) {
  switch (item.rule.type) {
    case ArgumentType::size: return read_size(item, value);
    case ArgumentType::integer: return read_integer(item, value);
    case ArgumentType::number: return read_number(item, value);
    case ArgumentType::flag: return read_flag(item, value);
    case ArgumentType::choice: return read_choice(item, value);
    case ArgumentType::pair:
    case ArgumentType::padding: return read_pair(item, value);
    case ArgumentType::integers:
    case ArgumentType::axes: return read_integers(item, value);
    case ArgumentType::init: return read_init(item, value);
    case ArgumentType::name: return read_name(item, value);
  }
  return std::nullopt;
}

bool is_small(const Value& value, int depth) {
  if (const std::string* text = value.text()) return text->size() <= argument_text_max;
  if (const Value::List* list = value.list()) {
    return depth > 0 && list->size() <= list_items_max &&
           std::ranges::all_of(*list, [&](const Value& one) { return is_small(one, depth - 1); });
  }
  if (const Value::Object* object = value.object()) {
    return depth > 0 && object->size() <= list_items_max &&
           std::ranges::all_of(*object, [&](const Argument& one) {
             return one.name.size() <= argument_text_max && is_small(one.value, depth - 1);
           });
  }
  return true;
}

}  // namespace

bool is_small(const Value& value) { return is_small(value, 2); }

Given::Given(const ArgumentRules& rules, const Reading& reading) {
  for (const ArgumentRule& rule : rules) read(rule, reading);
}

void Given::read(const ArgumentRule& rule, const Reading& reading) {
  if (std::ranges::find(reading.broken, rule.name) != reading.broken.end()) return;
  const Value* value = find(reading.written, rule.name);
  if (value == nullptr) {
    if (rule.is_required) {
      reading.faults.add(reading.place, "",
                         std::string(reading.op) + " needs " + quoted(rule.name));
      return;
    }
    if (rule.standard == Value("")) return;
    value = &rule.standard;
  }
  if (auto read = read_value({rule, reading}, *value)) {
    values_.push_back({std::string(rule.name), *std::move(read)});
  }
}

const Value* Given::find_value(std::string_view name) const { return find(values_, name); }

bool Given::is_known(std::string_view name) const { return find_value(name) != nullptr; }

Count Given::integer(std::string_view name) const {
  const Value* value = find_value(name);
  if (value == nullptr) return std::nullopt;
  ENSURE(value->number() != nullptr);
  return static_cast<std::int64_t>(*value->number());
}

std::optional<double> Given::number(std::string_view name) const {
  const Value* value = find_value(name);
  if (value == nullptr) return std::nullopt;
  ENSURE(value->number() != nullptr);
  return *value->number();
}

bool Given::flag(std::string_view name) const {
  const Value* value = find_value(name);
  if (value == nullptr) return false;
  ENSURE(value->flag() != nullptr);
  return *value->flag();
}

std::string Given::text(std::string_view name) const {
  const Value* value = find_value(name);
  return value == nullptr || value->text() == nullptr ? "" : *value->text();
}

std::optional<Pair> Given::pair(std::string_view name) const {
  const auto sizes = integers(name);
  if (!sizes) return std::nullopt;
  ENSURE(sizes->size() == 2);
  return Pair{(*sizes)[0], (*sizes)[1]};
}

std::optional<Sizes> Given::integers(std::string_view name) const {
  const Value* value = find_value(name);
  if (value == nullptr || value->list() == nullptr) return std::nullopt;
  Sizes sizes;
  for (const Value& item : *value->list()) {
    sizes.push_back(static_cast<std::int64_t>(*item.number()));
  }
  return sizes;
}

const Value* Given::init(std::string_view name) const { return find_value(name); }

void Given::set(std::string_view name, Value value) {
  const auto found = std::ranges::find(values_, name, &Argument::name);
  if (found != values_.end()) {
    found->value = std::move(value);
  } else {
    values_.push_back({std::string(name), std::move(value)});
  }
}

}  // namespace trainyard::model
