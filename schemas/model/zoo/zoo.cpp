#include "schemas/model/zoo/zoo.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "schemas/base/json_pointer.h"
#include "schemas/base/near_name.h"
#include "schemas/model/init.h"
#include "schemas/model/zoo/families.h"
#include "schemas/model/zoo/zoo_arguments.h"

namespace trainyard::model {
namespace {

std::vector<ZooModel> all_models() {
  std::vector<ZooModel> models;
  add_feature_models(models);
  add_convolutional_models(models);
  add_residual_models(models);
  add_recurrent_models(models);
  add_transformers(models);
  add_recommenders(models);
  return models;
}

std::string names_of_models() {
  std::string names;
  for (const ZooModel& model : zoo()) {
    if (!names.empty()) names += ", ";
    names += model.name;
  }
  return names;
}

std::string did_you_mean_model(const std::string& name) {
  std::vector<std::string_view> names;
  for (const ZooModel& model : zoo()) names.push_back(model.name);
  return did_you_mean(name, names);
}

}  // namespace

std::span<const ZooModel> zoo() {
  static const std::vector<ZooModel> models = all_models();
  return models;
}

const ZooModel* find_zoo_model(std::string_view name) {
  const auto found = std::ranges::find(zoo(), name, &ZooModel::name);
  return found == zoo().end() ? nullptr : &*found;
}

namespace {

// The model and its arguments; nothing where a fault was noted.
struct CheckedCall {
  const ZooModel& model;
  ZooArguments arguments;
};
std::optional<CheckedCall> check_call(const ZooCall& call, const CallPlace& place) {
  const ZooModel* found = find_zoo_model(call.name);
  if (found == nullptr) {
    place.faults.push_back(
        {call.is_short ? std::string(place.pointer) : child_pointer(place.pointer, "name"),
         "no model is called \"" + call.name + "\"; there are: " + names_of_models() +
             did_you_mean_model(call.name)});
    return std::nullopt;
  }
  const std::size_t faults_before = place.faults.size();
  ZooArguments arguments = check_arguments(*found, call.arguments, place);
  if (place.faults.size() > faults_before) return std::nullopt;
  return CheckedCall{*found, std::move(arguments)};
}

// What the model's layers start with, where the argument leaves it to them.
Value default_of(const ZooArgument& argument, const CheckedCall& call) {
  const bool is_found_out = argument.standard == Value("");
  if (!is_found_out || argument.name != "weight_init") return argument.standard;
  return call.model.make(call.arguments, {}).init.value_or(Value(""));
}

}  // namespace

Model make_zoo_model(const ZooCall& call, const Facts& facts, std::string_view pointer,
                     std::vector<Fault>& faults) {
  const auto checked = check_call(call, {pointer, faults});
  return checked ? checked->model.make(checked->arguments, facts) : Model{};
}

ZooCall with_defaults(const ZooCall& call, std::string_view pointer, std::vector<Fault>& faults) {
  const auto checked = check_call(call, {pointer, faults});
  if (!checked) return call;
  ZooCall whole{.name = call.name};
  for (const ZooArgument& argument : checked->model.arguments) {
    const Value* const given = find(call.arguments, argument.name);
    Value value = given != nullptr ? *given : default_of(argument, *checked);
    if (value == Value("")) continue;  // it is found out each time
    if (argument.kind == ArgumentKind::init) value = with_number(value);
    whole.arguments.push_back({std::string(argument.name), std::move(value)});
  }
  return whole;
}

}  // namespace trainyard::model
