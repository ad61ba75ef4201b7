// Logistic regression: against PyTorch, on sparse features and on the same as dense ones.
#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/math/optim/optimizer.h"
#include "runtime/model/model.h"
#include "tests/golden/golden.h"
#include "tests/support/models.h"

namespace trainyard::runtime {

namespace {

model::Written logistic() { return models::zoo("logistic_regression"); }

DataShape shape_of(std::int64_t features, FeatureLayout layout) {
  return {.example = {features}, .features = features, .classes = 2, .layout = layout};
}

Batch sparse_batch(const nlohmann::json& reference) {
  Batch batch{.examples = 0, .features = {}, .labels = reference["labels"], .targets = {}};
  batch.examples = std::ssize(batch.labels);
  batch.sparse = {.offsets = reference["offsets"],
                  .columns = reference["columns"],
                  .values = reference["values"]};
  return batch;
}

Batch dense_batch(const nlohmann::json& reference) {
  Batch batch = sparse_batch(reference);
  const SparseRows rows = std::move(batch.sparse);
  batch.sparse = {};
  const std::size_t features = reference["features"];
  batch.features.resize(batch.labels.size() * features);
  for (std::size_t row = 0; row < batch.labels.size(); ++row) {
    for (auto i = rows.offsets[row]; i < rows.offsets[row + 1]; ++i) {
      const auto place = static_cast<std::size_t>(i);
      batch.features[row * features + static_cast<std::size_t>(rows.columns[place])] =
          rows.values[place];
    }
  }
  return batch;
}

OptimizerKind kind_of(const std::string& name) {
  if (name == "adagrad") return OptimizerKind::adagrad;
  return name == "adam" ? OptimizerKind::adam : OptimizerKind::sgd;
}

// Twelve steps from the reference's start; the losses before each are compared on the way.
void require_same_training(const nlohmann::json& reference, FeatureLayout layout) {
  const Batch batch =
      layout == FeatureLayout::sparse ? sparse_batch(reference) : dense_batch(reference);
  auto model = Model::build(logistic(), shape_of(reference["features"], layout), {batch.examples});
  REQUIRE(model);
  const auto variables = model->variables();
  REQUIRE(variables.size() == 2);
  CHECK(variables[0].name == "dense_0/kernel");
  std::vector<float> weights(static_cast<std::size_t>(model->arena_elements()));
  std::vector<float> gradients(weights.size());
  for (std::size_t v = 0; v < 2; ++v) {
    const std::vector<float> start = reference["start"][v];
    std::ranges::copy(start, weights.begin() + variables[v].offset);
  }

  const OptimizerConfig optimizer{.kind = kind_of(reference["optimizer"])};
  std::vector<std::vector<float>> slots(slot_names(optimizer.kind).size(),
                                        std::vector<float>(weights.size()));
  const std::vector<std::span<float>> slot_spans(slots.begin(), slots.end());
  const auto examples = static_cast<float>(batch.examples);
  for (std::int64_t step = 1; step <= 12; ++step) {
    const BatchResult result = model->gradient(weights, batch, gradients);
    const double expected = reference["losses"][static_cast<std::size_t>(step - 1)];
    REQUIRE(result.loss_sum / static_cast<double>(examples) == Approx(expected).epsilon(3e-6));
    apply_update(optimizer, reference["learning_rate"], step, 1.0F / examples, gradients, weights,
                 weights, slot_spans);
  }
  for (std::size_t v = 0; v < 2; ++v) {
    const std::vector<float> end = reference["end"][v];
    for (std::size_t i = 0; i < end.size(); ++i) {
      INFO(variables[v].name << " [" << i << "]");
      CHECK(weights[static_cast<std::size_t>(variables[v].offset) + i] ==
            Approx(end[i]).margin(5e-6));
    }
  }
}

}  // namespace

TEST_CASE("twelve steps of a logistic regression are PyTorch's, sparse and dense",
          "[model][golden]") {
  const auto golden = load_golden("sparse.json");
  for (const auto& reference : golden.at("logistic_training")) {
    INFO(reference["optimizer"]);
    require_same_training(reference, FeatureLayout::sparse);
    require_same_training(reference, FeatureLayout::dense);
  }
}

TEST_CASE("what is right is counted by the sign of the logit", "[model]") {
  auto model = Model::build(logistic(), shape_of(2, FeatureLayout::sparse), {4});
  REQUIRE(model);
  std::vector<float> weights(static_cast<std::size_t>(model->arena_elements()));
  weights[0] = 2.0F;   // of feature 0
  weights[1] = -1.0F;  // of feature 1
  Batch batch{.examples = 4, .features = {}, .labels = {1, 0, 0, 1}, .targets = {}};
  batch.sparse = {
      .offsets = {0, 1, 2, 2, 4}, .columns = {0, 1, 0, 1}, .values = {1.0F, 1.0F, 1.0F, 3.0F}};
  const BatchResult result = model->evaluate(weights, batch);
  CHECK(result.examples == 4);
  CHECK(result.metrics[0] == 3);  // the last has 2 - 3 < 0
}

TEST_CASE("sparse features are refused by the models that need dense ones", "[model]") {
  using Catch::Matchers::Contains;
  for (const char* const name : {"mlp", "softmax_regression"}) {
    const auto model = Model::build(models::zoo(name), shape_of(5, FeatureLayout::sparse), {1});
    REQUIRE_FALSE(model);
    CHECK_THAT(model.error().message, Contains("/model") && Contains("sparse"));
  }
}

TEST_CASE("a logistic regression needs exactly two classes", "[model]") {
  using Catch::Matchers::Contains;
  for (const std::int64_t classes : {0, 3, 10}) {
    DataShape shape = shape_of(5, FeatureLayout::dense);
    shape.classes = classes;
    const auto model = Model::build(logistic(), shape, {1});
    REQUIRE_FALSE(model);
    CHECK_THAT(model.error().message, Contains("/model") && Contains("two classes"));
  }
  const auto deep = models::zoo("logistic_regression", {{"hidden", models::widths({4})}});
  CHECK_FALSE(Model::build(deep, shape_of(5, FeatureLayout::sparse), {1}));
}

}  // namespace trainyard::runtime
