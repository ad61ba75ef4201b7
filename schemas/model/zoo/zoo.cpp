#include "schemas/model/zoo/zoo.h"

#include <algorithm>

#include "schemas/base/json_pointer.h"
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

}  // namespace

std::span<const ZooModel> zoo() {
  static const std::vector<ZooModel> models = all_models();
  return models;
}

const ZooModel* find_zoo_model(std::string_view name) {
  const auto found = std::ranges::find(zoo(), name, &ZooModel::name);
  return found == zoo().end() ? nullptr : &*found;
}

Model make_zoo_model(const ZooCall& call, const Facts& facts, std::string_view pointer,
                     std::vector<Fault>& faults) {
  const ZooModel* found = find_zoo_model(call.name);
  if (found == nullptr) {
    faults.push_back({call.is_short ? std::string(pointer) : child_pointer(pointer, "name"),
                      "no model is called \"" + call.name + "\"; there are: " + names_of_models()});
    return {};
  }
  const std::size_t faults_before = faults.size();
  const ZooArguments arguments = check_arguments(*found, call.arguments, {pointer, faults});
  return faults.size() > faults_before ? Model{} : found->make(arguments, facts);
}

}  // namespace trainyard::model
