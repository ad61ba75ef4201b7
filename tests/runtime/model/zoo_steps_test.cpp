// One training step of each image model of the zoo: losses, every gradient and what the running
// averages are made of are PyTorch's (tests/golden/make_zoo_steps.py).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "tests/golden/golden.h"
#include "tests/support/models.h"

namespace trainyard::runtime {
namespace {

// In [-0.5, 0.5), as the script has it.
double hashed(std::uint64_t index, std::uint64_t stream) {
  std::uint64_t bits = (index * 2654435761U + stream * 40503 + 12345) & 0xFFFFFFFFU;
  bits ^= bits >> 15U;
  bits = (bits * 2246822519U) & 0xFFFFFFFFU;
  bits ^= bits >> 13U;
  return static_cast<double>(bits) / 4294967296.0 - 0.5;
}

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

struct Yardstick {
  double norm = 0;  // of a variable's gradient, as they are for the most
  std::uint64_t number = 0;
};

double usual_norm(const nlohmann::json& gradients) {
  double squares = 0;
  for (const auto& gradient : gradients) squares += std::pow(gradient["norm"].get<double>(), 2);
  return std::sqrt(squares / static_cast<double>(gradients.size()));
}

// An error of 1e-5 of the gradient shows in its products with three patterns. A bias before a batch
// norm has a gradient of zero, and what rounding leaves of it: so there is a least margin.
void check_gradient(const nlohmann::json& reference, const Variable& variable,
                    std::span<const float> gradient, const Yardstick& by) {
  INFO(variable.name);
  REQUIRE(reference["elements"] == variable.elements);
  const double margin = 1e-5 * std::max(reference["norm"].get<double>(), by.norm);
  double squares = 0;
  std::array<double, 3> products{};
  for (std::uint64_t i = 0; i < gradient.size(); ++i) {
    const auto value = static_cast<double>(gradient[i]);
    squares += value * value;
    for (std::uint64_t p = 0; p < 3; ++p)
      products[p] += value * hashed(i, 1000 + 3 * by.number + p);
  }
  CHECK(std::sqrt(squares) == Approx(reference["norm"].get<double>()).margin(margin));
  for (std::size_t p = 0; p < 3; ++p) {
    CHECK(products[p] == Approx(reference["products"][p].get<double>()).margin(margin));
  }
  const std::size_t every = reference["every"];
  for (std::size_t i = 0; i < reference["samples"].size(); ++i) {
    CHECK(static_cast<double>(gradient[i * every]) ==
          Approx(reference["samples"][i].get<double>()).margin(margin));
  }
}

}  // namespace

TEST_CASE("a step of each image model of the zoo is PyTorch's", "[model][golden]") {
  for (const auto& reference : load_golden("zoo_steps.json")) {
    INFO(reference["model"].dump());
    const std::vector<std::int64_t> image = reference["image"];
    const DataShape shape{
        .example = image, .features = image[0] * image[1] * image[2], .classes = 10};
    const std::vector<double> losses = reference["losses"];
    const std::int64_t examples = std::ssize(losses);
    auto model = Model::build(model_of(reference["model"]), shape, {examples});
    REQUIRE(model);
    const auto variables = model->variables();
    REQUIRE(variables.size() == reference["gradients"].size());

    const std::string name = reference["model"]["name"];
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
    const BatchResult result =
        model->gradient(weights.span(), batch_of(shape, examples), gradients.span());
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

}  // namespace trainyard::runtime
