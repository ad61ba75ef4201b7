// Models of categories whose embeddings lie in tables on the parameter servers: DeepFM (Guo et al.
// 2017), DLRM (Naumov et al. 2019), and two towers for retrieval.
#include <algorithm>
#include <utility>

#include "schemas/model/zoo/families.h"
#include "schemas/model/zoo/zoo_arguments.h"

namespace trainyard::model {
namespace {

constexpr double row_numbers_max = 4096;

// A table's rows start in U(-0.05, 0.05).
Layer rows_layer(Value size) {
  return op("embedding", {{"size", std::move(size)},
                          {"storage", "rows"},
                          {"init", Value::Object{{"name", "uniform"}, {"stddev", 0.05}}}});
}

void add_relu_layers(Layers& layers, const ZooArguments& arguments, const char* widths) {
  for (const std::int64_t width : arguments.integers(widths)) {
    layers.push_back(dense_layer(from(widths, width), "relu"));
  }
}

// Whether the data set surely has no numbers beside its categories.
bool lacks_numbers(const Facts& facts) {
  return facts.fields_are_known && !facts.fields.empty() &&
         std::ranges::find(facts.fields, "numeric", &Field::name) == facts.fields.end();
}

std::vector<Input> inputs(const Facts& facts) {
  if (lacks_numbers(facts)) return {{"ids", "categorical"}};
  return {{"ids", "categorical"}, {"numbers", "numeric"}};
}

Model score_model(Layers layers, std::vector<Input> inputs) {
  return {.inputs = std::move(inputs),
          .init = "he_normal",
          .layers = std::move(layers),
          .losses = {{.op = "sigmoid_cross_entropy", .in = {"score"}}},
          .metrics = {{.op = "auc"}, {.op = "accuracy"}}};
}

// Counts such as Criteo's grow by powers; those below zero there say that there is none.
void add_log_of_numbers(Layers& layers) {
  layers.push_back(reading({"numbers"}, op("relu")));
  layers.push_back(named("n", op("log1p")));
}

// A linear model, products of all pairs of embeddings, and an mlp of them: added up.
Model deepfm(const ZooArguments& arguments, const Facts& facts) {
  const bool has_numbers = !lacks_numbers(facts);
  Layer weights = op("embedding", {{"size", 1}, {"storage", "rows"}, {"init", "zeros"}});
  Layers layers;
  if (has_numbers) add_log_of_numbers(layers);
  layers.push_back(named("v", reading({"ids"}, rows_layer(arguments.value("embedding_size")))));
  layers.push_back(named("w", reading({"ids"}, std::move(weights))));
  layers.push_back(named(
      "linear", reading({"w"}, op("reduce", {{"kind", "sum"}, {"axes", Value::List{0, 1}}}))));
  layers.push_back(named("pairs", reading({"v"}, op("fm"))));
  layers.push_back(reading({"v"}, op("flatten")));
  if (has_numbers) layers.push_back(reading({"-", "n"}, op("concat")));
  add_relu_layers(layers, arguments, "hidden");
  layers.push_back(named("deep", dense_layer(1)));
  layers.push_back(named("score", reading({"linear", "pairs", "deep"}, op("add"))));
  return score_model(std::move(layers), inputs(facts));
}

// The numbers become one more vector beside the embeddings; the products of all pairs and that
// vector go into an mlp.
Model dlrm(const ZooArguments& arguments, const Facts&) {
  const Value& size = arguments.value("embedding_size");
  Layers layers;
  add_log_of_numbers(layers);
  add_relu_layers(layers, arguments, "bottom");
  layers.push_back(named("dense_vector", dense_layer(size, "relu")));
  layers.push_back(named(
      "row", op("reshape", {{"shape", Value::List{1, arguments.integer("embedding_size")}}})));
  layers.push_back(named("v", reading({"ids"}, rows_layer(size))));
  layers.push_back(reading({"row", "v"}, op("concat", {{"axis", 0}})));
  layers.push_back(op("pairwise_dot"));
  layers.push_back(reading({"dense_vector", "-"}, op("concat")));
  add_relu_layers(layers, arguments, "top");
  layers.push_back(named("score", dense_layer(1)));
  return score_model(std::move(layers), {{"ids", "categorical"}, {"numbers", "numeric"}});
}

Model two_tower(const ZooArguments& arguments, const Facts&) {
  Layers tower{rows_layer(arguments.value("embedding_size"))};
  add_relu_layers(tower, arguments, "hidden");
  tower.push_back(dense_layer(arguments.value("size")));
  tower.push_back(op("l2_normalize"));
  std::vector<Input> inputs{{"item", arguments.text("item")}, {"user", arguments.text("user")}};
  std::vector<std::string> compared{"u", "i"};
  if (const std::string& popularity = arguments.text("popularity"); !popularity.empty()) {
    inputs.push_back({"popularity", popularity});
    compared.emplace_back("popularity");
  }
  return {.inputs = std::move(inputs),
          .blocks = {{.name = "tower", .layers = std::move(tower)}},
          .init = "he_normal",
          .layers = {named("u", reading({"user"}, use("tower"))),
                     named("i", reading({"item"}, use("tower")))},
          .losses = {{.op = "in_batch_softmax",
                      .in = std::move(compared),
                      .arguments = {{"temperature", arguments.value("temperature")}}}},
          .metrics = {{.op = "recall", .arguments = {{"k", arguments.value("k")}}}}};
}

ZooArgument embedding_size(int standard) {
  return integer_argument("embedding_size", "Numbers in a row of the table", standard,
                          row_numbers_max);
}

ZooArgument field(std::string_view name, std::string_view description,
                  const std::string& standard) {
  return {
      .name = name, .description = description, .kind = ArgumentKind::field, .standard = standard};
}

}  // namespace

void add_recommenders(std::vector<ZooModel>& models) {
  models.push_back({.name = "deepfm",
                    .description = "Clicks from categories and numbers: linear, pairs and an mlp",
                    .arguments = {embedding_size(16),
                                  widths_argument("hidden", "Widths of the mlp", {400, 400})},
                    .make = deepfm});
  models.push_back(
      {.name = "dlrm",
       .description = "Clicks from categories and numbers: products of pairs, then an mlp",
       .arguments = {embedding_size(16),
                     widths_argument("bottom", "Widths of the mlp of the numbers", {512, 256}),
                     widths_argument("top", "Widths of the mlp of the products", {512, 256})},
       .make = dlrm});
  models.push_back(
      {.name = "two_tower",
       .description = "Vectors of users and of items whose product tells what fits",
       .arguments = {embedding_size(32),
                     widths_argument("hidden", "Widths of each tower's hidden layers", {64}),
                     integer_argument("size", "Numbers in a vector", 32, width_max),
                     {.name = "temperature",
                      .description = "Scores are divided by it",
                      .kind = ArgumentKind::number,
                      .standard = 0.05,
                      .least = 0.001,
                      .most = 100},
                     integer_argument("k", "Recall is counted among so many items", 10, 1000),
                     field("user", "The data set's field of users", "user"),
                     field("item", "The data set's field of items", "item"),
                     field("popularity",
                           "The data set's log_frequency of the items, where there is one", "")},
       .make = two_tower});
}

}  // namespace trainyard::model
