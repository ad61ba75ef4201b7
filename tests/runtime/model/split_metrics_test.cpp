// Recall of a test split, with models that are built: who is whom, and what training says.
#include "runtime/model/split_metrics.h"

#include <catch2/catch.hpp>

#include "runtime/math/aligned_buffer.h"

namespace trainyard::runtime {
namespace {

model::Layer reads(const char* input, const char* op, model::Arguments arguments,
                   const char* name) {
  model::Layer layer = model::op(op, std::move(arguments));
  layer.in = {input};
  layer.name = name;
  return layer;
}

// Towers that are tables of the arena: the vector of an id is what is put there.
Model towers_of(std::vector<model::Input> inputs, std::vector<model::Layer> layers,
                const DataShape& shape) {
  const model::Model written{.inputs = std::move(inputs),
                             .layers = std::move(layers),
                             .losses = {{.op = "in_batch_softmax", .in = {"u", "i"}}},
                             .metrics = {{.op = "recall", .arguments = {{"k", 1}}}}};
  auto model = Model::build(written, shape, {8});
  if (!model) FAIL(model.error().message);
  return *std::move(model);
}

DataShape user_and_item() {
  DataShape shape{.example = {0}, .layout = FeatureLayout::columns, .labels = LabelLayout::none};
  shape.id_fields = {{.name = "item", .example = {}, .ids = 3},
                     {.name = "user", .example = {}, .ids = 2}};
  return shape;
}

Model embeddings() {
  return towers_of({{"item", "item"}, {"user", "user"}},
                   {reads("user", "embedding", {{"size", 3}}, "u"),
                    reads("item", "embedding", {{"size", 3}}, "i")},
                   user_and_item());
}

// Items 0, 1, 2 have the vectors e0, e1, e2; users like item 0 best, then 1, then 2.
AlignedBuffer tables(const Model& model) {
  AlignedBuffer weights(static_cast<std::size_t>(model.arena_elements()));
  for (const Variable& variable : model.variables()) {
    float* const table = weights.data() + variable.offset;
    for (std::int64_t i = 0; i < variable.elements; ++i) {
      const bool is_user = variable.name.starts_with("u/");
      const auto of_user = static_cast<float>(3 - i % 3);
      table[i] = is_user ? of_user : (i / 3 == i % 3 ? 1.0F : 0.0F);
    }
  }
  return weights;
}

// Field after field, in the order of their names.
Batch batch_of(std::vector<std::int32_t> items, const std::vector<std::int32_t>& users) {
  Batch batch{.examples = std::ssize(items), .features = {}, .labels = {}, .targets = {}};
  batch.ids = std::move(items);
  batch.ids.insert(batch.ids.end(), users.begin(), users.end());
  return batch;
}

double recall_of(const SplitMetrics& metrics) {
  std::map<std::string, double> values;
  metrics.put(
      "test_", [] { return false; }, values);
  return values.at("test_recall_1");
}

}  // namespace

TEST_CASE("what a user has in training is left out of its recall", "[metrics]") {
  Model model = embeddings();
  const AlignedBuffer weights = tables(model);
  SplitMetrics metrics(model);
  CHECK_FALSE(metrics.reads_training());  // there is no example yet
  const Batch test = batch_of({0, 1, 2, 2}, {0, 0, 0, 1});
  static_cast<void>(model.evaluate(weights.span(), test));
  metrics.add(model, test);
  REQUIRE(metrics.reads_training());
  CHECK(recall_of(metrics) == 0.25);
  metrics.add_training(batch_of({0, 0}, {0, 0}));
  CHECK(recall_of(metrics) == 0.5);  // now item 1 is user 0's first
  metrics.add_training(batch_of({1, 0, 1}, {0, 1, 1}));
  CHECK(recall_of(metrics) == 1);
}

TEST_CASE("towers of one field are told apart by their vectors, and training says nothing",
          "[metrics]") {
  DataShape shape{.example = {0}, .layout = FeatureLayout::columns, .labels = LabelLayout::none};
  shape.id_fields = {{.name = "both", .example = {2}, .ids = 3},
                     {.name = "other", .example = {}, .ids = 2}};
  const auto part = [](const char* from, std::int64_t begin, const char* name) {
    return reads(from, "slice", {{"axis", 0}, {"begin", begin}, {"size", 1}}, name);
  };
  Model model = towers_of(
      {{"both", "both"}},
      {reads("both", "embedding", {{"size", 3}}, "table"), part("table", 0, "one"),
       reads("one", "flatten", {}, "u"), part("table", 1, "two"), reads("two", "flatten", {}, "i")},
      shape);
  const AlignedBuffer weights = tables(model);
  SplitMetrics metrics(model);
  Batch test{.examples = 3, .features = {}, .labels = {}, .targets = {}};
  test.ids = {0, 0, 1, 0, 0, 1, 0, 0, 0};  // of "both", then of "other"
  static_cast<void>(model.evaluate(weights.span(), test));
  metrics.add(model, test);
  CHECK_FALSE(metrics.reads_training());
  // The users e0, e1 and e0 have the items e0, e0 and e1.
  CHECK(recall_of(metrics) == Approx(1.0 / 3));
}

}  // namespace trainyard::runtime
