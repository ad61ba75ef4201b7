#include "runtime/math/ops/loss.h"

#include <limits>

#include "tests/golden/golden.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {

TEST_CASE("softmax cross entropy and its gradient are PyTorch's", "[loss][golden]") {
  const auto golden = load_golden("ops.json");
  for (const auto& reference : golden["cross_entropy"]) {
    const Shape shape{reference["rows"], reference["classes"]};
    const std::vector<float> logits = reference["logits"];
    const std::vector<std::int32_t> labels = reference["labels"];
    std::vector<float> losses(labels.size());
    std::vector<float> probabilities(logits.size());
    std::vector<float> gradient(logits.size());
    const std::vector<float> upstream(labels.size(), 1.0F);

    softmax_cross_entropy(tensor_of(logits, shape), labels, tensor_of(losses, {shape[0]}),
                          tensor_of(probabilities, shape));
    softmax_cross_entropy_gradient(tensor_of(probabilities, shape), labels,
                                   tensor_of(upstream, {shape[0]}), tensor_of(gradient, shape),
                                   Write::overwrite);

    require_close(losses, reference["losses"].get<std::vector<float>>(), 2e-6);
    require_close(gradient, reference["logits_gradient"].get<std::vector<float>>(), 1e-6);
  }
}

TEST_CASE("sigmoid cross entropy and its gradient are PyTorch's", "[loss][golden]") {
  const auto reference = load_golden("sparse.json")["sigmoid_cross_entropy"][0];
  const std::vector<float> logits = reference["logits"];
  const std::vector<std::int32_t> labels = reference["labels"];
  const std::int64_t rows = std::ssize(labels);
  std::vector<float> losses(labels.size());
  std::vector<float> gradient(labels.size());
  const std::vector<float> upstream(labels.size(), 1.0F);

  sigmoid_cross_entropy(tensor_of(logits, {rows, 1}), labels, tensor_of(losses, {rows}));
  sigmoid_cross_entropy_gradient(tensor_of(logits, {rows, 1}), labels, tensor_of(upstream, {rows}),
                                 tensor_of(gradient, {rows, 1}), Write::overwrite);

  require_close(losses, reference["losses"].get<std::vector<float>>(), 1e-6);
  require_close(gradient, reference["logits_gradient"].get<std::vector<float>>(), 1e-6);
}

TEST_CASE("a sigmoid's loss is finite for every finite logit, keeps small numbers, and shows NaN",
          "[loss]") {
  const std::vector<float> logits{3e38F, -3e38F, -20.0F, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<std::int32_t> labels{1, 1, 0, 0};
  std::vector<float> losses(4);
  std::vector<float> matches(4);
  sigmoid_cross_entropy(tensor_of(logits, {4, 1}), labels, tensor_of(losses, {4}));
  match_binary_labels(tensor_of(logits, {4, 1}), labels, tensor_of(matches, {4}));

  REQUIRE(losses[0] == 0.0F);
  REQUIRE(losses[1] == 3e38F);
  REQUIRE(losses[2] == Approx(2.0611536e-9).epsilon(1e-5));
  REQUIRE(std::isnan(losses[3]));
  REQUIRE(matches == std::vector<float>{1.0F, 0.0F, 1.0F, 0.0F});
}

TEST_CASE("a sigmoid's gradient is scaled by what flows in, and adds where asked to", "[loss]") {
  const std::vector<float> logits{0.0F, 0.0F};
  const std::vector<float> upstream{2.0F, -1.0F};
  std::vector<float> gradient{1.0F, 1.0F};
  sigmoid_cross_entropy_gradient(tensor_of(logits, {2, 1}), std::vector<std::int32_t>{1, 0},
                                 tensor_of(upstream, {2}), tensor_of(gradient, {2, 1}), Write::add);
  require_close(gradient, std::vector<float>{0.0F, 0.5F}, 1e-6);
}

TEST_CASE("squared error and its gradient are PyTorch's", "[loss][golden]") {
  const auto reference = load_golden("ops.json")["squared_error"][0];
  const std::vector<float> predictions = reference["predictions"];
  const std::vector<float> targets = reference["targets"];
  const std::int64_t rows = std::ssize(targets);
  std::vector<float> losses(targets.size());
  std::vector<float> gradient(targets.size());
  const std::vector<float> upstream(targets.size(), 1.0F);

  squared_error(tensor_of(predictions, {rows, 1}), targets, tensor_of(losses, {rows}));
  squared_error_gradient(tensor_of(predictions, {rows, 1}), targets, tensor_of(upstream, {rows}),
                         tensor_of(gradient, {rows, 1}), Write::overwrite);

  require_close(losses, reference["losses"].get<std::vector<float>>(), 1e-6);
  require_close(gradient, reference["predictions_gradient"].get<std::vector<float>>(), 1e-6);
}

TEST_CASE("the largest logits give finite losses, and NaN anywhere in a row gives NaN", "[loss]") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits{1e30F, -1e30F, 0.0F, 500.0F, 500.0F, -500.0F,
                                  nan,   1.0F,   2.0F, 1.0F,   2.0F,   nan};
  const std::vector<std::int32_t> labels{0, 1, 1, 0};
  std::vector<float> losses(4);
  std::vector<float> probabilities(12);
  softmax_cross_entropy(tensor_of(logits, {4, 3}), labels, tensor_of(losses, {4}),
                        tensor_of(probabilities, {4, 3}));

  REQUIRE(losses[0] == 0.0F);
  REQUIRE(losses[1] == Approx(0.693147));
  REQUIRE(std::isnan(losses[2]));
  REQUIRE(std::isnan(losses[3]));
}

TEST_CASE("the gradients of losses are scaled by what flows in, and add where asked to", "[loss]") {
  const std::vector<float> probabilities{0.2F, 0.8F, 0.5F, 0.5F};
  const std::vector<std::int32_t> labels{1, 0};
  const std::vector<float> upstream{2.0F, -1.0F};
  std::vector<float> gradient{1.0F, 1.0F, 1.0F, 1.0F};
  softmax_cross_entropy_gradient(tensor_of(probabilities, {2, 2}), labels, tensor_of(upstream, {2}),
                                 tensor_of(gradient, {2, 2}), Write::add);
  require_close(gradient, std::vector<float>{1.4F, 0.6F, 1.5F, 0.5F}, 1e-6);
}

TEST_CASE("a match is where the first largest logit is the label's", "[loss]") {
  const std::vector<float> logits{1.0F, 3.0F, 2.0F, 4.0F, 4.0F, 0.0F};
  const std::vector<std::int32_t> labels{1, 1};
  std::vector<float> matches(2);
  match_labels(tensor_of(logits, {2, 3}), labels, tensor_of(matches, {2}));
  REQUIRE(matches == std::vector<float>{1.0F, 0.0F});
}

TEST_CASE("losses of smoothed labels and their gradients are PyTorch's", "[loss][golden]") {
  const auto golden = load_golden("losses.json");
  for (const auto& reference : golden["softmax"]) {
    const Shape shape{reference["rows"], reference["classes"]};
    const std::vector<float> logits = reference["logits"];
    const std::vector<std::int32_t> labels = reference["labels"];
    const std::vector<float> upstream = reference["upstream"];
    const float smoothing = reference["smoothing"];
    std::vector<float> losses(labels.size());
    std::vector<float> probabilities(logits.size());
    std::vector<float> gradient(logits.size());
    softmax_cross_entropy(tensor_of(logits, shape), labels, tensor_of(losses, {shape[0]}),
                          tensor_of(probabilities, shape), smoothing);
    softmax_cross_entropy_gradient(tensor_of(probabilities, shape), labels,
                                   tensor_of(upstream, {shape[0]}), tensor_of(gradient, shape),
                                   Write::overwrite, smoothing);
    require_close(losses, reference["losses"].get<std::vector<float>>(), 2e-6);
    require_close(gradient, reference["logits_gradient"].get<std::vector<float>>(), 1e-6);
  }
  for (const auto& reference : golden["sigmoid"]) {
    const std::vector<float> logits = reference["logits"];
    const std::vector<std::int32_t> labels = reference["labels"];
    const std::vector<float> upstream = reference["upstream"];
    const float smoothing = reference["smoothing"];
    const std::int64_t rows = std::ssize(labels);
    std::vector<float> losses(labels.size());
    std::vector<float> gradient(labels.size());
    sigmoid_cross_entropy(tensor_of(logits, {rows, 1}), labels, tensor_of(losses, {rows}),
                          smoothing);
    sigmoid_cross_entropy_gradient(tensor_of(logits, {rows, 1}), labels,
                                   tensor_of(upstream, {rows}), tensor_of(gradient, {rows, 1}),
                                   Write::overwrite, smoothing);
    require_close(losses, reference["losses"].get<std::vector<float>>(), 1e-6);
    require_close(gradient, reference["logits_gradient"].get<std::vector<float>>(), 1e-6);
  }
}

TEST_CASE("Huber's loss and its gradient are PyTorch's", "[loss][golden]") {
  const auto golden = load_golden("losses.json")["huber"];
  for (const auto& reference : golden) {
    const std::vector<float> predictions = reference["predictions"];
    const std::vector<float> targets = reference["targets"];
    const std::vector<float> upstream = reference["upstream"];
    const float delta = reference["delta"];
    const std::int64_t rows = std::ssize(targets);
    std::vector<float> losses(targets.size());
    std::vector<float> gradient(targets.size());
    std::vector<float> added(targets.size(), 1.0F);
    huber_error(delta, tensor_of(predictions, {rows, 1}), targets, tensor_of(losses, {rows}));
    huber_error_gradient(delta, tensor_of(predictions, {rows, 1}), targets,
                         tensor_of(upstream, {rows}), tensor_of(gradient, {rows, 1}),
                         Write::overwrite);
    huber_error_gradient(delta, tensor_of(predictions, {rows, 1}), targets,
                         tensor_of(upstream, {rows}), tensor_of(added, {rows, 1}), Write::add);
    require_close(losses, reference["losses"].get<std::vector<float>>(), 1e-6);
    require_close(gradient, reference["predictions_gradient"].get<std::vector<float>>(), 1e-6);
    for (std::size_t i = 0; i < added.size(); ++i) REQUIRE(added[i] == 1.0F + gradient[i]);
  }
}

TEST_CASE("Huber's loss and the absolute error show NaN", "[loss]") {
  const std::vector<float> predictions{std::numeric_limits<float>::quiet_NaN(), -3.0F};
  const std::vector<float> targets{1.0F, 1.0F};
  const std::vector<float> upstream{1.0F, 1.0F};
  std::vector<float> losses(2);
  std::vector<float> gradient(2);
  std::vector<float> errors(2);
  huber_error(1.0F, tensor_of(predictions, {2, 1}), targets, tensor_of(losses, {2}));
  huber_error_gradient(1.0F, tensor_of(predictions, {2, 1}), targets, tensor_of(upstream, {2}),
                       tensor_of(gradient, {2, 1}), Write::overwrite);
  absolute_error(tensor_of(predictions, {2, 1}), targets, tensor_of(errors, {2}));
  REQUIRE(std::isnan(losses[0]));
  REQUIRE(std::isnan(gradient[0]));
  REQUIRE(std::isnan(errors[0]));
  REQUIRE(errors[1] == 4.0F);
}

TEST_CASE(
    "a label is among the k largest where fewer come before it, the lower of equal ones first",
    "[loss]") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> logits{3, 1, 2, 0,   5, 5, 5, 1,   5,  5, 5,  1,  //
                                  2, 2, 1, nan, 9, 1, 1, nan, -1, 0, -1, -1};
  const std::vector<std::int32_t> labels{1, 2, 1, 3, 0, 3};
  const auto among = [&](std::int64_t k) {
    std::vector<float> matches(6);
    match_top_labels(k, tensor_of(logits, {6, 4}), labels, tensor_of(matches, {6}));
    return matches;
  };
  CHECK(among(1) == std::vector<float>{0, 0, 0, 0, 1, 0});
  CHECK(among(2) == std::vector<float>{0, 0, 1, 0, 1, 0});
  CHECK(among(3) == std::vector<float>{1, 1, 1, 0, 1, 0});
  CHECK(among(4) == std::vector<float>{1, 1, 1, 0, 1, 1});  // NaN matches nothing
}

}  // namespace trainyard::runtime
