// A whole training against PyTorch: the same start, the same batch, twelve steps of sgd.
#include <catch2/catch.hpp>

#include "runtime/math/optim/optimizer.h"
#include "runtime/model/model.h"
#include "tests/golden/golden.h"
#include "tests/support/models.h"

namespace trainyard::runtime {

namespace {

void copy_in(const nlohmann::json& reference, std::span<const Variable> variables,
             std::span<float> arena) {
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const std::vector<float> values = reference[v];
    REQUIRE(std::ssize(values) == variables[v].elements);
    std::ranges::copy(values, arena.begin() + variables[v].offset);
  }
}

void require_close_to(const nlohmann::json& reference, std::span<const Variable> variables,
                      std::span<const float> arena) {
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const std::vector<float> values = reference[v];
    for (std::size_t i = 0; i < values.size(); ++i) {
      INFO(variables[v].name << " [" << i << "]");
      REQUIRE(arena[static_cast<std::size_t>(variables[v].offset) + i] ==
              Approx(values[i]).margin(3e-6));
    }
  }
}

}  // namespace

TEST_CASE("twelve steps of an mlp with each activation are PyTorch's", "[model][golden]") {
  for (const auto& reference : load_golden("mlp_training.json")) {
    INFO(reference["activation"]);
    const model::Written spec =
        models::mlp(reference["hidden"].get<std::vector<std::int64_t>>(), reference["activation"]);
    const std::int64_t features = reference["features"];
    const DataShape shape{
        .example = {features}, .features = features, .classes = reference["classes"]};
    Batch batch{
        .examples = 0, .features = reference["x"], .labels = reference["labels"], .targets = {}};
    batch.examples = std::ssize(batch.labels);
    auto model = Model::build(spec, shape, {batch.examples});
    REQUIRE(model);
    std::vector<float> weights(static_cast<std::size_t>(model->arena_elements()));
    std::vector<float> gradients(weights.size());
    copy_in(reference["start"], model->variables(), weights);

    const auto examples = static_cast<float>(batch.examples);
    for (std::size_t step = 0; step < 12; ++step) {
      const BatchResult result = model->gradient(weights, batch, gradients);
      const double expected = reference["losses"][step];
      REQUIRE(result.loss_sum / static_cast<double>(examples) == Approx(expected).epsilon(3e-6));
      if (step == 0) {
        std::vector<float> mean = gradients;
        for (float& value : mean) value /= examples;
        require_close_to(reference["first_gradients"], model->variables(), mean);
      }
      apply_update({.kind = OptimizerKind::sgd}, reference["learning_rate"],
                   static_cast<std::int64_t>(step) + 1, 1.0F / examples, gradients, weights,
                   weights, {});
    }
    require_close_to(reference["end"], model->variables(), weights);
  }
}

}  // namespace trainyard::runtime
