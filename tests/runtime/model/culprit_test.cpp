// Which layer is named where a step stops being a number.
#include "runtime/model/culprit.h"

#include <catch2/catch.hpp>
#include <limits>

#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "tests/support/models.h"

namespace trainyard::runtime {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

// x -> log of a dense layer's value -> a dense layer: below zero a log is no number.
model::Written with_a_log() {
  model::Model model;
  model.layers = {model::op("dense", {{"units", 3}, {"init", "zeros"}}), model::op("log"),
                  model::op("dense", {{"units", "classes"}})};
  model.losses = {{.op = "softmax_cross_entropy"}};
  return model;
}

struct Scene {
  model::Written written;
  DataShape data{.example = {4}, .features = 4, .classes = 2};
  Batch batch{.examples = 2, .features = {1, 2, 3, 4, 5, 6, 7, 8}, .labels = {0, 1}, .targets = {}};
  AlignedBuffer parameters;

  explicit Scene(model::Written of) : written(std::move(of)) {
    const auto model = Model::build(written, data, {2});
    REQUIRE(model);
    parameters = AlignedBuffer(static_cast<std::size_t>(model->arena_elements()));
    model->initialize(1, parameters.span());
  }

  std::string words() {
    return first_not_finite(
        {.model = written, .data = data, .parameters = parameters.span(), .batch = batch});
  }
};

}  // namespace

TEST_CASE("a step that is all numbers has no culprit", "[culprit]") {
  Scene scene(models::mlp({3}));
  CHECK(scene.words().empty());
}

TEST_CASE("the first layer whose value is no number is named with what it reads", "[culprit]") {
  Scene scene(with_a_log());
  for (float& value : scene.parameters.span()) value = -1;
  const std::string words = scene.words();
  CHECK_THAT(words, StartsWith("log_0 (log) is the first whose values are none"));
  CHECK_THAT(words, Contains("6 of 6 numbers, the first nan"));
  CHECK_THAT(words, Contains("what it reads the largest magnitude is 27"));  // -(5+6+7+8) - 1
}

TEST_CASE("a layer that overflows is named with its kernel", "[culprit]") {
  Scene scene(models::mlp({}));
  scene.parameters.span()[0] = 3e38F;
  const std::string words = scene.words();
  CHECK_THAT(words, StartsWith("dense_0 (dense) is the first"));
  CHECK_THAT(words, Contains("of dense_0/kernel the largest magnitude is 3e+38"));
}

TEST_CASE("parameters that are none already are named before any layer", "[culprit]") {
  Scene scene(models::mlp({3}));
  scene.parameters.span()[0] = std::numeric_limits<float>::infinity();
  CHECK_THAT(scene.words(),
             StartsWith("parameters are none before it: dense_0/kernel (1 of 12 numbers, the "
                        "first inf)"));
}

TEST_CASE("where only a gradient is none, the variable is named", "[culprit]") {
  model::Model model;
  model.layers = {model::op("dense", {{"units", 2}}), model::op("sqrt"),
                  model::op("dense", {{"units", "classes"}})};
  model.losses = {{.op = "softmax_cross_entropy"}};
  Scene scene(model);
  // The root of zero is zero, and its slope is not.
  const auto built = Model::build(scene.written, scene.data, {2});
  for (const Variable& variable : built->variables()) {
    if (!variable.name.starts_with("dense_0")) continue;
    for (std::int64_t i = 0; i < variable.elements; ++i) {
      scene.parameters.span()[static_cast<std::size_t>(variable.offset + i)] = 0;
    }
  }
  CHECK_THAT(scene.words(), StartsWith("the gradient of dense_0/"));
}

}  // namespace trainyard::runtime
