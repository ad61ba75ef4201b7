#include "schemas/model/init.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "schemas/base/check.h"
#include "schemas/base/json_pointer.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

// The one number that some have.
struct InitNumber {
  std::string_view name;  // "" = none
  double standard = 0;
  double least = 0;
  double most = 0;
};

struct InitRule {
  std::string_view name;
  InitNumber number;
  Start (*start)(double number, Fans fans) = nullptr;
};

constexpr InitNumber stddev{"stddev", 0.1, 1e-9, 100};

constexpr std::array init_rules{
    InitRule{"zeros", {}, [](double, Fans) { return Start{}; }},
    InitRule{"constant",
             {"value", 0, -1e6, 1e6},
             [](double value, Fans) {
               return Start{StartKind::constant, value};
             }},
    InitRule{"normal", stddev,
             [](double by, Fans) {
               return Start{StartKind::normal, by};
             }},
    InitRule{"uniform", stddev,
             [](double by, Fans) {
               return Start{StartKind::uniform, by};
             }},
    InitRule{"truncated_normal", stddev,
             [](double by, Fans) {
               return Start{StartKind::truncated_normal, by};
             }},
    InitRule{"xavier_uniform",
             {},
             [](double, Fans fans) {
               return Start{StartKind::uniform, std::sqrt(6.0 / (fans.in + fans.out))};
             }},
    InitRule{"xavier_normal",
             {},
             [](double, Fans fans) {
               return Start{StartKind::normal, std::sqrt(2.0 / (fans.in + fans.out))};
             }},
    InitRule{"he_uniform",
             {},
             [](double, Fans fans) {
               return Start{StartKind::uniform, std::sqrt(6.0 / fans.in)};
             }},
    InitRule{"he_normal",
             {},
             [](double, Fans fans) {
               return Start{StartKind::normal, std::sqrt(2.0 / fans.in)};
             }},
    InitRule{"orthogonal",
             {"gain", 1, 1e-9, 100},
             [](double gain, Fans) {
               return Start{StartKind::orthogonal, gain};
             }},
    InitRule{"torch",
             {},
             [](double, Fans fans) {
               return Start{StartKind::uniform, 1.0 / std::sqrt(fans.in)};
             }},
};

const InitRule* find_rule(std::string_view name) {
  const auto* const found = std::ranges::find(init_rules, name, &InitRule::name);
  return found == init_rules.end() ? nullptr : found;
}

std::vector<std::string_view> init_names() {
  std::vector<std::string_view> names;
  for (const InitRule& rule : init_rules) names.push_back(rule.name);
  return names;
}

const std::string* name_of(const Value& init) {
  if (init.object() == nullptr) return init.text();
  const Value* name = find(*init.object(), "name");
  return name == nullptr ? nullptr : name->text();
}

std::optional<std::string> fault_of_number(const InitNumber& rule, const Value& value) {
  const double* number = value.number();
  if (number != nullptr && *number >= rule.least && *number <= rule.most) return std::nullopt;
  return "must be a number from " + number_text(rule.least) + " to " + number_text(rule.most) +
         ", got " + describe(value);
}

}  // namespace

std::optional<std::string> fault_of_init(const Value& value, std::string& below) {
  const std::string* name = name_of(value);
  if (value.object() != nullptr) below = "/name";
  if (name == nullptr && value.object() != nullptr && find(*value.object(), "name") == nullptr) {
    below = "";
    return "an initialiser needs \"name\": one of " + listed(init_names());
  }
  const InitRule* rule = name == nullptr ? nullptr : find_rule(*name);
  if (rule == nullptr) {
    const Value* got = value.object() == nullptr ? &value : find(*value.object(), "name");
    return "must be one of " + listed(init_names()) + ", got " + describe(*got) +
           (name == nullptr ? "" : meant(*name, init_names()));
  }
  if (value.object() == nullptr) return std::nullopt;
  for (const Argument& field : *value.object()) {
    below = child_pointer("", field.name);
    if (field.name == "name") continue;
    if (rule->number.name.empty() || field.name != rule->number.name) {
      return *name + " has no " + quoted(field.name) +
             (rule->number.name.empty() ? "" : " (it has: " + std::string(rule->number.name) + ")");
    }
    if (auto fault = fault_of_number(rule->number, field.value)) return fault;
  }
  below = "";
  return std::nullopt;
}

Start start_of(const Value& init, Fans fans) {
  const std::string* name = name_of(init);
  ENSURE(name != nullptr);
  const InitRule* rule = find_rule(*name);
  ENSURE(rule != nullptr);
  double number = rule->number.standard;
  if (init.object() != nullptr && !rule->number.name.empty()) {
    const Value* given = find(*init.object(), rule->number.name);
    if (given != nullptr) number = *given->number();
  }
  return rule->start(number, {std::max(fans.in, 1.0), std::max(fans.out, 1.0)});
}

Value with_number(const Value& init) {
  std::string below;
  if (fault_of_init(init, below)) return init;
  const InitNumber& number = find_rule(*name_of(init))->number;
  Value::Object object =
      init.object() != nullptr ? *init.object() : Value::Object{{"name", *init.text()}};
  if (!number.name.empty() && find(object, number.name) == nullptr) {
    object.push_back({std::string(number.name), number.standard});
  }
  return object;
}

bool starts_biases(const Value& init) {
  const std::string* name = name_of(init);
  return name != nullptr && *name == "torch";
}

}  // namespace trainyard::model
