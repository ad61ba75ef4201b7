// One training step of each image model of the zoo: losses, every gradient and what the running
// averages are made of are PyTorch's (tests/golden/make_zoo_steps.py).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>

#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "tests/environment.h"
#include "tests/golden/golden.h"
#include "tests/runtime/model/step_check.h"
#include "tests/runtime/model/step_on_device.h"
#include "tests/support/models.h"

namespace trainyard::runtime {
namespace {

double start_of(const Variable& variable, bool is_deep, std::uint64_t number, std::uint64_t i) {
  const double value = hashed(i, number);
  if (variable.name.ends_with("/kernel")) {
    const auto fan_in = static_cast<double>(variable.elements / variable.shape.back());
    return value * std::sqrt(24.0 / fan_in);
  }
  if (variable.name.ends_with("/scale")) return is_deep ? 0.3 + 0.1 * value : 1 + 0.5 * value;
  if (!is_deep || !variable.name.ends_with("/offset")) return 0.2 * value;
  return (i % 4 == 3 ? -1.5 : 1.5) + 0.2 * value;
}

model::Written model_of(const nlohmann::json& reference) {
  model::Written written = models::zoo(reference["name"]);
  for (const auto& [name, value] : reference.items()) {
    if (value.is_number()) models::set_argument(written, name, value.get<double>());
    if (value.is_string() && name != "name") {
      models::set_argument(written, name, value.get<std::string>());
    }
  }
  return written;
}

Batch batch_of(const DataShape& shape, std::int64_t examples) {
  Batch batch{.examples = examples, .features = {}, .labels = {}, .targets = {}};
  const auto elements = static_cast<std::uint64_t>(examples * shape.features);
  for (std::uint64_t i = 0; i < elements; ++i) {
    batch.features.push_back(static_cast<float>(2 * hashed(i, 999)));
  }
  for (std::int32_t i = 0; i < examples; ++i) batch.labels.push_back((7 * i + 3) % 10);
  return batch;
}

}  // namespace

TEST_CASE("a step of each image model of the zoo is PyTorch's", "[model][golden]") {
  for (const auto& reference : load_golden("zoo_steps.json")) {
    INFO(reference["model"].dump());
    const std::string name = reference["model"]["name"];
    // Of the same layers as others, but for their number.
    if (is_sanitized && (name == "vgg11" || name == "resnet34")) continue;
    const std::vector<std::int64_t> image = reference["image"];
    const DataShape shape{
        .example = image, .features = image[0] * image[1] * image[2], .classes = 10};
    const std::vector<double> losses = reference["losses"];
    const std::int64_t examples = std::ssize(losses);
    auto model = Model::build(model_of(reference["model"]), shape, {examples});
    REQUIRE(model);
    const auto variables = model->variables();
    REQUIRE(variables.size() == reference["gradients"].size());

    const bool is_deep = name == "resnet34" || name == "resnet50";
    AlignedBuffer weights(static_cast<std::size_t>(model->arena_elements()));
    for (std::size_t v = 0; v < variables.size(); ++v) {
      if (variables[v].update == UpdateRule::running_average) continue;
      for (std::int64_t i = 0; i < variables[v].elements; ++i) {
        weights.span()[static_cast<std::size_t>(variables[v].offset + i)] =
            static_cast<float>(start_of(variables[v], is_deep, v, static_cast<std::uint64_t>(i)));
      }
    }
    AlignedBuffer gradients(weights.size());
    const Batch batch = batch_of(shape, examples);
    const BatchResult result = model->gradient(weights.span(), batch, gradients.span());
    const model::Written written = model_of(reference["model"]);
    check_on_device({written, shape, batch, weights.span(), gradients.span(), result});
    const double norm = usual_norm(reference["gradients"]);
    double sum = 0;
    for (const double loss : losses) sum += loss;
    CHECK(result.loss_sum == Approx(sum).epsilon(1e-5));
    for (std::size_t v = 0; v < variables.size(); ++v) {
      const auto gradient =
          gradients.span().subspan(static_cast<std::size_t>(variables[v].offset),
                                   static_cast<std::size_t>(variables[v].elements));
      check_gradient(reference["gradients"][v], variables[v], gradient, {norm, v});
    }
  }
}

TEST_CASE("models of features have their bytes on a device", "[model]") {
  const std::map<std::string, std::int64_t> classes{{"linear_regression", 0},
                                                    {"logistic_regression", 2},
                                                    {"softmax_regression", 10},
                                                    {"mlp", 10}};
  for (const auto& [name, count] : classes) {
    INFO(name);
    const model::Written written = models::zoo(name);
    const DataShape shape{.example = {7}, .features = 7, .classes = count};
    Batch batch = batch_of(shape, 9);
    for (std::int64_t i = 0; i < batch.examples; ++i) {
      const auto at = static_cast<std::size_t>(i);
      batch.targets.push_back(static_cast<float>(hashed(at, 5)));
      if (count > 0) batch.labels[at] %= static_cast<std::int32_t>(count);
    }
    auto model = Model::build(written, shape, {batch.examples});
    if (!model) FAIL(model.error().message);
    AlignedBuffer weights(static_cast<std::size_t>(model->arena_elements()));
    model->initialize(3, weights.span());
    AlignedBuffer gradients(weights.size());
    const BatchResult result = model->gradient(weights.span(), batch, gradients.span());
    check_on_device({written, shape, batch, weights.span(), gradients.span(), result});
  }
}

}  // namespace trainyard::runtime
