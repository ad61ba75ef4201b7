#include "schemas/types/zoo_call.h"

#include <utility>

namespace trainyard {
namespace {

std::string name_of(Initializer initializer) {
  switch (initializer) {
    case Initializer::normal: return "normal";
    case Initializer::uniform: return "uniform";
    case Initializer::xavier_uniform: return "xavier_uniform";
    case Initializer::he_normal: return "he_normal";
    case Initializer::zeros: break;
  }
  return "zeros";
}

std::string name_of(Activation activation) {
  switch (activation) {
    case Activation::sigmoid: return "sigmoid";
    case Activation::tanh: return "tanh";
    case Activation::relu: break;
  }
  return "relu";
}

model::Value init_of(const ModelSpec& spec) {
  const bool has_stddev =
      spec.initializer == Initializer::normal || spec.initializer == Initializer::uniform;
  if (!has_stddev) return name_of(spec.initializer);
  return model::Value::Object{{"name", name_of(spec.initializer)}, {"stddev", spec.stddev}};
}

}  // namespace

model::ZooCall zoo_call_of(const ModelSpec& spec) {
  model::ZooCall call{.name = spec.name};
  const auto add = [&call](const char* name, model::Value value) {
    call.arguments.push_back({name, std::move(value)});
  };
  add("weight_init", init_of(spec));
  if (spec.name == "mlp" || spec.name == "wide_and_deep" || !spec.hidden.empty()) {
    add("hidden", model::Value::List(spec.hidden.begin(), spec.hidden.end()));
    add("activation", name_of(spec.activation));
  }
  if (spec.name == "wide_and_deep") add("embedding_size", spec.embedding_size);
  return call;
}

}  // namespace trainyard
