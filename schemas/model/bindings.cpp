#include "schemas/model/bindings.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "schemas/base/json_pointer.h"
#include "schemas/model/given.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {

Bindings Bindings::within(const Block& block, Arguments given, std::string use_pointer) const {
  Bindings bindings(*definitions_);
  bindings.values_ = std::move(given);
  bindings.block_ = &block;
  bindings.use_pointer_ = std::move(use_pointer);
  return bindings;
}

bool Bindings::is_parameter(std::string_view name) const {
  return block_ != nullptr &&
         std::ranges::find(block_->parameters, name) != block_->parameters.end();
}

// A parameter hides the definition of its name, whether it is given or not.
std::optional<Value> Bindings::find_value(std::string_view name) const {
  if (const Value* value = find(values_, name)) return *value;
  if (is_parameter(name)) return std::nullopt;
  const auto found = definitions_->find(name);
  return found == definitions_->end() ? std::nullopt : std::optional<Value>(found->second);
}

std::string Bindings::missing_text(std::string_view name) const {
  std::string dollar(1, '$');
  dollar += name;
  std::string text = quoted(dollar) + " has no value";
  if (is_parameter(name))
    return text + " (used at " + use_pointer_ + " without " + quoted(name) + ")";
  std::vector<std::string_view> names;
  for (const auto& [defined, value] : *definitions_) names.push_back(defined);
  std::ranges::sort(names);
  if (block_ == nullptr) return text + ": it is not in \"define\"" + meant(name, names);
  names.insert(names.end(), block_->parameters.begin(), block_->parameters.end());
  return text + ": it is neither a parameter of the block " + quoted(block_->name) +
         " nor in \"define\"" + meant(name, names);
}

std::optional<Value> Bindings::replace(const Value& value, const Place& place,
                                       const std::string& below, FaultList& faults) const {
  if (const std::string* text = value.text()) {
    if (!text->starts_with('$')) return value;
    const std::string_view name = std::string_view(*text).substr(1);
    std::optional<Value> replaced = find_value(name);
    if (!replaced) {
      if (!faults.hears(place, below)) return std::nullopt;
      Place here = place;
      if (is_parameter(name)) here.used_at.clear();  // the sentence says it itself
      faults.add(here, below, missing_text(name));
    } else if (replaced->from.empty()) {
      replaced->from = value.from;
    }
    return replaced;
  }
  if (value.list() == nullptr && value.object() == nullptr) return value;

  Value replaced = value;
  bool is_whole = true;
  const auto replace_one = [&](Value& one, const std::string& key) {
    auto item = replace(one, place, child_pointer(below, key), faults);
    is_whole = is_whole && item.has_value();
    if (item) one = *std::move(item);
  };
  if (auto* list = std::get_if<Value::List>(&replaced.is)) {
    std::size_t position = 0;
    for (Value& item : *list) replace_one(item, std::to_string(position++));
  } else if (auto* object = std::get_if<Value::Object>(&replaced.is)) {
    for (Argument& field : *object) replace_one(field.value, field.name);
  }
  if (is_whole && !is_small(replaced)) faults.add(place, below, "has lists within lists");
  return is_whole && is_small(replaced) ? std::optional<Value>(std::move(replaced)) : std::nullopt;
}

}  // namespace trainyard::model
