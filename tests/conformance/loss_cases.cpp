#include <limits>

#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

Case of_classes(Random& random, const std::string& name, std::int64_t examples,
                std::int64_t classes, double smoothing, float most) {
  FeedData feed{.examples = examples};
  for (std::int64_t i = 0; i < examples; ++i) {
    feed.labels.push_back(static_cast<std::int32_t>(some_number(random, 0, classes - 1)));
  }
  std::vector<Input> inputs{example_input(random, examples, {classes}, -most, most)};
  return case_of(name, SoftmaxCrossEntropyOp{.label_smoothing = smoothing}, std::move(inputs),
                 std::move(feed));
}

// Of an op of one number for each example.
Case of_numbers(Random& random, const std::string& name, const Op& op, float most) {
  FeedData feed{.examples = some_number(random, 1, 70)};
  for (std::int64_t i = 0; i < feed.examples; ++i) {
    feed.labels.push_back(static_cast<std::int32_t>(some_number(random, 0, 1)));
  }
  feed.targets = some_floats(random, feed.examples, -most, most);
  std::vector<Input> inputs{example_input(random, feed.examples, {1}, -most, most)};
  return case_of(name, op, std::move(inputs), std::move(feed));
}

Case with_special_logits(Case of, Random& random) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float>& logits = of.inputs[0].values;
  for (const float special : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    logits[static_cast<std::size_t>(some_number(random, 0, std::ssize(logits) - 1))] = special;
  }
  return of;
}

}  // namespace

std::vector<Case> loss_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < rounds; ++round) {
    const std::int64_t examples = some_number(random, 1, 40);
    cases.push_back(of_classes(random, "softmax", examples, some_number(random, 1, 40), 0, 9));
    cases.push_back(
        of_classes(random, "softmax, smoothed", examples, some_number(random, 1, 40), 0.1, 3));
    cases.push_back(of_classes(random, "softmax, far apart", some_number(random, 1, 3),
                               some_number(random, 300, 3000), round % 2 * 0.25, 200));
    cases.push_back(of_numbers(random, "sigmoid", SigmoidCrossEntropyOp{}, 9));
    cases.push_back(
        of_numbers(random, "sigmoid, smoothed", SigmoidCrossEntropyOp{.label_smoothing = 0.2}, 99));
    cases.push_back(of_numbers(random, "squared error", SquaredErrorOp{}, 3));
    cases.push_back(of_numbers(random, "huber", HuberOp{.delta = 0.7}, 2));
    if (round % 4 != 0) continue;
    cases.push_back(with_special_logits(
        of_classes(random, "softmax, not finite", examples, some_number(random, 1, 40), 0, 9),
        random));
    cases.push_back(with_special_logits(
        of_numbers(random, "sigmoid, not finite", SigmoidCrossEntropyOp{}, 9), random));
    cases.push_back(
        with_special_logits(of_numbers(random, "huber, not finite", HuberOp{}, 9), random));
  }
  return cases;
}

}  // namespace trainyard::runtime
