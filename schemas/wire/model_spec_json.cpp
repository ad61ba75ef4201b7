// The part "model" of the job spec.
#include "schemas/wire/job_spec_fields.h"
#include "schemas/wire/spec_names.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::int64_t layers_max = 64;
constexpr std::int64_t width_max = 65'536;
constexpr std::int64_t embedding_size_max = 4096;

enum class ModelName {
  linear_regression,
  logistic_regression,
  softmax_regression,
  mlp,
  wide_and_deep,
};
constexpr NameTable<ModelName, 5> model_names{
    {{ModelName::linear_regression, "linear_regression"},
     {ModelName::logistic_regression, "logistic_regression"},
     {ModelName::softmax_regression, "softmax_regression"},
     {ModelName::mlp, "mlp"},
     {ModelName::wide_and_deep, "wide_and_deep"}}};

std::vector<std::int64_t> read_hidden(const JsonPlace& place) {
  std::vector<std::int64_t> hidden;
  if (!place.value.is_array() || place.value.size() > layers_max) {
    place.fault(
        "must be an array of at most " + std::to_string(layers_max) + " widths, got " +
        (place.value.is_array() ? std::to_string(place.value.size()) : describe(place.value)));
    return hidden;
  }
  for (const json& width : place.value) {
    const JsonPlace item{width, child_pointer(place.pointer, std::to_string(hidden.size())),
                         place.faults};
    hidden.push_back(read_integer(item, {1, width_max}).value_or(1));
  }
  return hidden;
}

void read_weight_init(const JsonPlace& place, ModelSpec& model) {
  Fields fields(place, "name");
  if (!fields.require("name")) return;
  const std::size_t faults_before = place.faults.size();
  fields.choice("name", model.initializer, initializer_names);
  if (place.faults.size() > faults_before) return;  // its fields are anyone's guess
  if (uses_stddev(model.initializer)) fields.number("stddev", model.stddev, {1e-9, 100});
  fields.refuse_others();
}

Initializer default_initializer(const ModelSpec& model) {
  if (!has_hidden_layers(model)) return Initializer::zeros;
  return model.activation == Activation::relu ? Initializer::he_normal : Initializer::normal;
}

}  // namespace

ModelSpec read_model(const JsonPlace& place) {
  ModelSpec model;
  Fields fields(place, "name");
  if (!fields.require("name")) return model;

  ModelName name = ModelName::mlp;
  const std::size_t faults_before = place.faults.size();
  fields.choice("name", name, model_names);
  if (place.faults.size() > faults_before) return model;  // its fields are anyone's guess

  model.name = find_name(model_names, name);
  if (name == ModelName::wide_and_deep) {
    fields.integer("embedding_size", model.embedding_size, {1, embedding_size_max});
  }
  if (has_hidden_layers(model)) {
    model.hidden = {100};
    if (const auto hidden = fields.find("hidden")) model.hidden = read_hidden(*hidden);
    fields.choice("activation", model.activation, activation_names);
  }
  model.initializer = default_initializer(model);
  if (const auto init = fields.find("weight_init")) read_weight_init(*init, model);
  fields.refuse_others();
  return model;
}

}  // namespace trainyard
