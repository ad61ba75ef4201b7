// One training step of each transformer of the zoo, gpt2_small among them: losses and every
// gradient are PyTorch's (tests/golden/make_gpt_steps.py).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "tests/golden/golden.h"
#include "tests/runtime/model/step_check.h"
#include "tests/runtime/model/step_on_device.h"
#include "tests/support/models.h"

namespace trainyard::runtime {
namespace {

model::Written transformer_of(const nlohmann::json& reference) {
  model::Written written = models::zoo(reference["name"]);
  for (const auto& [name, value] : reference.items()) {
    if (value.is_number()) models::set_argument(written, name, value.get<double>());
  }
  return written;
}

struct Distribution {
  double around = 0;
  double factor = 0.2;
};

Distribution start_of(const Variable& variable) {
  if (variable.name == "wte/kernel") return {.factor = 1};
  if (variable.name == "wpe/kernel") return {.factor = 0.5};
  if (variable.name.ends_with("/scale")) return {.around = 1, .factor = 0.5};
  if (!variable.name.ends_with("/kernel")) return {};
  return {.factor = std::sqrt(12.0 / static_cast<double>(variable.shape.front()))};
}

void fill(const Variable& variable, std::uint64_t number, std::span<float> weights) {
  const Distribution start = start_of(variable);
  for (std::int64_t i = 0; i < variable.elements; ++i) {
    weights[static_cast<std::size_t>(variable.offset + i)] = static_cast<float>(
        start.around + start.factor * hashed(static_cast<std::uint64_t>(i), number));
  }
}

DataShape shape_of(const nlohmann::json& reference) {
  const bool is_classifier = reference["model"]["name"] == "transformer_classifier";
  const std::int64_t time = reference["time"];
  return {.example = {time},
          .features = time,
          .classes = is_classifier ? 5 : 0,
          .layout = FeatureLayout::ids,
          .labels = is_classifier ? LabelLayout::one : LabelLayout::tokens,
          .vocabulary = reference["vocabulary"]};
}

// Of tokens the label is the one that follows, of the last the first.
Batch batch_of(const nlohmann::json& reference, const DataShape& shape) {
  Batch batch{.examples = std::ssize(reference["lengths"]),
              .features = {},
              .labels = {},
              .targets = {},
              .lengths = reference["lengths"]};
  const std::int64_t time = shape.features;
  const auto id = [&](std::int64_t b, std::int64_t i) {
    return static_cast<std::int32_t>((7 * i * i + 11 * i + 3 * b) % (shape.vocabulary - 1) + 1);
  };
  for (std::int64_t b = 0; b < batch.examples; ++b) {
    for (std::int64_t i = 0; i < time; ++i) {
      batch.ids.push_back(id(b, i));
      if (shape.labels == LabelLayout::tokens) batch.token_labels.push_back(id(b, (i + 1) % time));
    }
    if (shape.labels == LabelLayout::one) {
      batch.labels.push_back(static_cast<std::int32_t>((3 * b + 1) % 5));
    }
  }
  return batch;
}

}  // namespace

TEST_CASE("a step of each transformer of the zoo is PyTorch's", "[model][golden]") {
  for (const auto& reference : load_golden("gpt_steps.json")) {
    INFO(reference["model"].dump());
    const model::Written written = transformer_of(reference["model"]);
    const DataShape shape = shape_of(reference);
    const Batch batch = batch_of(reference, shape);
    auto model = Model::build(written, shape, {batch.examples});
    if (!model) FAIL(model.error().message);
    const auto variables = model->variables();
    REQUIRE(variables.size() == reference["gradients"].size());
    AlignedBuffer weights(static_cast<std::size_t>(model->arena_elements()));
    for (std::size_t v = 0; v < variables.size(); ++v) fill(variables[v], v, weights.span());
    AlignedBuffer gradients(weights.size());
    const BatchResult result = model->gradient(weights.span(), batch, gradients.span());
    double loss = 0;
    for (const double one : reference["losses"]) loss += one;
    CHECK(result.loss_sum == Approx(loss).epsilon(1e-5));
    const double norm = usual_norm(reference["gradients"]);
    for (std::size_t v = 0; v < variables.size(); ++v) {
      const auto gradient =
          gradients.span().subspan(static_cast<std::size_t>(variables[v].offset),
                                   static_cast<std::size_t>(variables[v].elements));
      check_gradient(reference["gradients"][v], variables[v], gradient, {norm, v});
    }
    constexpr std::size_t for_the_mirror = 1 << 20;  // which takes its time
    if (weights.size() > for_the_mirror) continue;
    check_on_device({written, shape, batch, weights.span(), gradients.span(), result});
  }
}

}  // namespace trainyard::runtime
