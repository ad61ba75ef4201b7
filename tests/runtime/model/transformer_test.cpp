// Whole training steps of transformers over sequences of numbers: PyTorch's
// (tests/golden/make_transformers.py), and the same bytes where blocks are computed again.
#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "runtime/core/counter_rng.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "schemas/wire/model_json.h"
#include "tests/golden/golden.h"
#include "tests/runtime/model/step_on_device.h"

namespace trainyard::runtime {
namespace {

model::Written read_model(const nlohmann::json& text) {
  std::vector<Fault> faults;
  const auto written = model::parse_model(text, "/model", faults);
  REQUIRE(faults.empty());
  return *written;
}

Model built(const nlohmann::json& text, const DataShape& shape, std::int64_t examples) {
  auto model = Model::build(read_model(text), shape, {.batch_size = examples, .seed = 4});
  INFO((model ? "" : model.error().message));
  REQUIRE(model);
  return std::move(*model);
}

void check_numbers(std::span<const float> got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < got.size(); ++i) {
    CHECK(static_cast<double>(got[i]) == Approx(expected[i]).margin(2e-6 * (1 + largest)));
  }
}

std::span<float> range_of(const Variable& variable, std::span<float> arena) {
  return arena.subspan(static_cast<std::size_t>(variable.offset),
                       static_cast<std::size_t>(variable.elements));
}

std::vector<float> normal_values(std::int64_t count, std::uint64_t seed) {
  const CounterRng rng(seed, RngStream::synthetic);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<float>(rng.normal(static_cast<std::uint64_t>(i))));
  }
  return values;
}

// Of a model: its loss and gradients of a batch, and how often a gradient was told to be final.
struct GradientStep {
  double loss = 0;
  std::vector<float> gradients;
  std::vector<int> finals;
};

GradientStep step_of(const nlohmann::json& text, const DataShape& shape) {
  constexpr std::int64_t examples = 5;
  Model model = built(text, shape, examples);
  AlignedBuffer parameters(static_cast<std::size_t>(model.arena_elements()));
  model.initialize(3, parameters.span());
  Batch batch{.examples = examples,
              .first_position = 20,
              .features = normal_values(examples * shape.features, 6),
              .labels = {0, 2, 1, 3, 1},
              .targets = {}};
  GradientStep step{.gradients = std::vector<float>(parameters.size(), 99.0F),
                    .finals = std::vector<int>(model.variables().size())};
  GradientCallbacks news;
  // A parameter changes as soon as its gradient is final: nobody may read it again.
  news.on_final = [&](std::size_t number) {
    ++step.finals[number];
    std::ranges::fill(range_of(model.variables()[number], parameters.span()), 1e6F);
  };
  step.loss = model.gradient(parameters.span(), batch, step.gradients, news).loss_sum;
  return step;
}

void check_that_recompute_changes_nothing(const nlohmann::json& text, const std::string& block,
                                          const DataShape& shape) {
  nlohmann::json again = text;
  for (auto& layer : again["layers"]) {
    if (layer.contains(block)) layer["recompute"] = true;
  }
  REQUIRE(again != text);
  const GradientStep kept = step_of(text, shape);
  const GradientStep computed = step_of(again, shape);
  CHECK(kept.loss == computed.loss);
  CHECK(std::ranges::count(computed.finals, 1) == std::ssize(computed.finals));
  REQUIRE(kept.gradients.size() == computed.gradients.size());
  CHECK(std::memcmp(kept.gradients.data(), computed.gradients.data(),
                    kept.gradients.size() * sizeof(float)) == 0);
}

// Losses and all gradients are those of the reference.
BatchResult step_as_in(const nlohmann::json& reference, const DataShape& shape,
                       const Batch& batch) {
  Model model = built(reference["model"], shape, batch.examples);
  const auto variables = model.variables();
  REQUIRE(variables.size() == reference["variables"].size());
  AlignedBuffer parameters(static_cast<std::size_t>(model.arena_elements()));
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const auto values = reference["variables"][i].get<std::vector<float>>();
    REQUIRE(std::ssize(values) == variables[i].elements);
    std::ranges::copy(values, range_of(variables[i], parameters.span()).begin());
  }
  AlignedBuffer gradients(parameters.size());
  const BatchResult result = model.gradient(parameters.span(), batch, gradients.span());
  check_on_device(
      {read_model(reference["model"]), shape, batch, parameters.span(), gradients.span(), result});
  double loss = 0;
  for (const double one : reference["losses"]) loss += one;
  CHECK(result.loss_sum == Approx(loss).epsilon(1e-6));
  for (std::size_t i = 0; i < variables.size(); ++i) {
    INFO(variables[i].name);
    check_numbers(range_of(variables[i], gradients.span()), reference["gradients"][i]);
  }
  return result;
}

}  // namespace

TEST_CASE("a step of a transformer is PyTorch's", "[model][golden]") {
  for (const auto& reference : load_golden("transformers.json")) {
    INFO(reference["model"].dump());
    const std::vector<std::int64_t> example = reference["example"];
    const DataShape shape{
        .example = example, .features = example[0] * example[1], .classes = reference["classes"]};
    const Batch batch{.examples = std::ssize(reference["losses"]),
                      .features = reference["x"],
                      .labels = reference["labels"],
                      .targets = {}};
    const BatchResult result = step_as_in(reference, shape, batch);
    CHECK(result.denominator == batch.examples);
  }
}

TEST_CASE("a step of gpt is PyTorch's, and of tokens as many count as an example has",
          "[model][golden]") {
  const auto reference = load_golden("gpt.json");
  const std::int64_t time = reference["example"][0];
  const DataShape shape{.example = {time},
                        .features = time,
                        .layout = FeatureLayout::ids,
                        .labels = LabelLayout::tokens,
                        .vocabulary = reference["vocabulary"]};
  const Batch batch{.examples = std::ssize(reference["losses"]),
                    .features = {},
                    .labels = {},
                    .targets = {},
                    .lengths = reference["lengths"],
                    .ids = reference["ids"],
                    .token_labels = reference["labels"]};
  const BatchResult result = step_as_in(reference, shape, batch);
  CHECK(result.denominator == std::reduce(batch.lengths.begin(), batch.lengths.end()));
  const std::vector<std::int64_t> right = reference["right"];
  CHECK(result.metrics[1] == static_cast<double>(std::reduce(right.begin(), right.end())));
}

TEST_CASE("a model's bytes are the same, whether blocks are kept or computed again", "[model]") {
  const DataShape sequences{.example = {6, 5}, .features = 30, .classes = 4};
  check_that_recompute_changes_nothing(nlohmann::json::parse(R"({
      "layers": [{"op": "reshape", "shape": [6, 5]}, {"op": "dense", "units": 8}, "positions",
                 {"repeat": 3, "layers": [
                    {"residual": ["layer_norm",
                                  {"op": "attention", "heads": 2, "causal": true, "dropout": 0.2},
                                  {"op": "dropout", "rate": 0.1}]},
                    {"residual": ["layer_norm",
                                  {"op": "dense", "units": 16, "activation": "gelu_tanh"},
                                  {"op": "dense", "units": 8}]}]},
                 "flatten", {"op": "dense", "units": "classes"}],
      "loss": "softmax_cross_entropy"})"),
                                       "repeat", sequences);
  // Batch norms' averages are not taken twice, and a frozen kernel is read until the end.
  const DataShape images{.example = {6, 5, 2}, .features = 60, .classes = 4};
  check_that_recompute_changes_nothing(nlohmann::json::parse(R"({
      "layers": [{"op": "conv2d", "filters": 4, "kernel": 3, "padding": 1},
                 {"residual": [{"op": "conv2d", "filters": 4, "kernel": 3, "padding": 1},
                               "batch_norm", "relu",
                               {"op": "conv2d", "filters": 4, "kernel": 1, "freeze": true}]},
                 {"residual": [{"op": "max_pool2d", "size": 3, "stride": 1, "padding": 1},
                               "batch_norm", {"op": "dropout", "rate": 0.3}]},
                 "global_avg_pool", {"op": "dense", "units": "classes"}],
      "loss": "softmax_cross_entropy"})"),
                                       "residual", images);
}

}  // namespace trainyard::runtime
