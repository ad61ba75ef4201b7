// Models of plain features: the linear ones, the multilayer perceptron, and wide and deep (Cheng et
// al.: "Wide & deep learning for recommender systems", 2016). Their variables have the names that
// they had before there was a model language, so that their checkpoints restore: dense_0/kernel
// from the input on, wide/kernel, embedding/kernel.
#include <algorithm>
#include <utility>

#include "schemas/model/zoo/families.h"
#include "schemas/model/zoo/zoo_arguments.h"

namespace trainyard::model {
namespace {

constexpr double embedding_bound = 0.05;  // as Keras has it
constexpr double embedding_size_max = 4096;

bool has_sparse_features(const Facts& facts) {
  return std::ranges::any_of(facts.fields,
                             [](const Field& field) { return field.kind == ElementKind::sparse; });
}

// Pictures become features; sparse features are that already.
Layers first_layers(const Facts& facts) {
  if (has_sparse_features(facts)) return {};
  return {op("flatten")};
}

Value uniform(double bound) { return Value::Object{{"name", "uniform"}, {"stddev", bound}}; }

Value start_of_hidden_layers(const ZooArguments& arguments) {
  if (arguments.is_given("weight_init")) return arguments.value("weight_init");
  if (arguments.text("activation") == "relu") return "he_normal";
  return Value::Object{{"name", "normal"}, {"stddev", 0.1}};
}

void add_hidden_layers(Layers& layers, const ZooArguments& arguments) {
  for (const std::int64_t width : arguments.integers("hidden")) {
    layers.push_back(dense_layer(from("hidden", width), arguments.value("activation")));
  }
}

// Layers that end in what is told apart: one score, a number, or a score for each class.
enum class Output { logit, number, classes };

Model finished(Layers layers, Output output) {
  layers.push_back(dense_layer(output == Output::classes ? Value("classes") : Value(1)));
  Model model{.layers = std::move(layers)};
  switch (output) {
    case Output::logit: model.losses = {{.op = "sigmoid_cross_entropy"}}; break;
    case Output::number: model.losses = {{.op = "squared_error"}}; break;
    case Output::classes: model.losses = {{.op = "softmax_cross_entropy"}}; break;
  }
  if (output != Output::number) model.metrics = {{.op = "accuracy"}};
  return model;
}

template <Output output>
Model linear(const ZooArguments& arguments, const Facts& facts) {
  Model model = finished(first_layers(facts), output);
  model.init = arguments.value("weight_init");
  return model;
}

Model mlp(const ZooArguments& arguments, const Facts& facts) {
  Layers layers = first_layers(facts);
  add_hidden_layers(layers, arguments);
  const bool is_of_numbers = facts.label_kind == LabelKind::number;
  Model model = finished(std::move(layers), is_of_numbers ? Output::number : Output::classes);
  model.init = start_of_hidden_layers(arguments);
  return model;
}

// The first layer's name, where the data set does not say how its one field is called.
std::string features_field(const Facts& facts) {
  return facts.fields.size() == 1 ? facts.fields.front().name : "features";
}

// A sum of the features' own weights beside an mlp of the mean of their embeddings, each times the
// feature's value.
Model wide_and_deep(const ZooArguments& arguments, const Facts& facts) {
  const auto bag = [](std::string name, Value size, const char* kind, Value init) {
    Layer layer = op("embedding_bag", {{"size", std::move(size)},
                                       {"kind", kind},
                                       {"storage", "rows"},
                                       {"init", std::move(init)}});
    return named(std::move(name), reading({"features"}, std::move(layer)));
  };
  Layers layers{bag("wide", 1, "sum", "zeros"), bag("embedding", arguments.value("embedding_size"),
                                                    "mean", uniform(embedding_bound))};
  add_hidden_layers(layers, arguments);
  Model model = finished(std::move(layers), Output::logit);
  model.inputs = {{"features", features_field(facts)}};
  const std::size_t hidden = arguments.integers("hidden").size();
  model.layers.push_back(reading({"wide", "dense_" + std::to_string(hidden)}, op("add")));
  model.init = start_of_hidden_layers(arguments);
  return model;
}

ZooArgument hidden() {
  return widths_argument("hidden", "Widths of the hidden layers, input side first", {100});
}

ZooArgument activation() {
  return choice_argument("activation", "Of the hidden layers", {"sigmoid", "tanh", "relu"});
}

// "": he_normal with relu, else normal with stddev 0.1.
ZooArgument hidden_init() { return weight_init_argument(""); }

}  // namespace

void add_feature_models(std::vector<ZooModel>& models) {
  models.push_back({.name = "linear_regression",
                    .description = "A weighted sum of the features, for a number as label",
                    .arguments = {weight_init_argument("zeros")},
                    .make = linear<Output::number>});
  models.push_back({.name = "logistic_regression",
                    .description = "A weighted sum of dense or sparse features, for two classes",
                    .arguments = {weight_init_argument("zeros")},
                    .make = linear<Output::logit>});
  models.push_back({.name = "softmax_regression",
                    .description = "A weighted sum of the features for each class",
                    .arguments = {weight_init_argument("zeros")},
                    .facts = {"classes"},
                    .make = linear<Output::classes>});
  models.push_back({.name = "mlp",
                    .description = "A multilayer perceptron, for classes or a number as label",
                    .arguments = {hidden(), activation(), hidden_init()},
                    .facts = {"classes"},
                    .make = mlp});
  models.push_back(
      {.name = "wide_and_deep",
       .description = "A linear model of sparse features beside an mlp of their embeddings",
       .arguments = {integer_argument("embedding_size", "Numbers in a feature's embedding", 16,
                                      embedding_size_max),
                     hidden(), activation(), hidden_init()},
       .make = wide_and_deep});
}

}  // namespace trainyard::model
