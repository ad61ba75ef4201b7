#include <limits>

#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

Case of_classes(Random& random, const std::string& name, const Op& op) {
  FeedData feed{.examples = some_number(random, 1, 40)};
  const std::int64_t classes = some_number(random, 1, 60);
  for (std::int64_t i = 0; i < feed.examples; ++i) {
    feed.labels.push_back(static_cast<std::int32_t>(some_number(random, 0, classes - 1)));
  }
  std::vector<Input> inputs{example_input(random, feed.examples, {classes})};
  return case_of(name, op, std::move(inputs), std::move(feed));
}

Case of_numbers(Random& random, const std::string& name, const Op& op) {
  FeedData feed{.examples = some_number(random, 1, 70)};
  for (std::int64_t i = 0; i < feed.examples; ++i) {
    feed.labels.push_back(static_cast<std::int32_t>(some_number(random, 0, 1)));
  }
  feed.targets = some_floats(random, feed.examples);
  std::vector<Input> inputs{example_input(random, feed.examples, {1})};
  return case_of(name, op, std::move(inputs), std::move(feed));
}

// Few values, so that many are equal, among them NaN and zeros of both signs; some rows begin with
// NaN.
Case with_equal_logits(Case of, Random& random) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float values[] = {-1, -0.0F, 0.0F, 1, 1, infinity, -1.5F, nan};
  const std::int64_t last = some_number(random, 0, 7);
  std::vector<float>& logits = of.inputs[0].values;
  for (float& logit : logits) logit = values[some_number(random, 0, last)];
  for (std::int64_t row = 0; row < of.feed.examples; ++row) {
    if (some_number(random, 0, 5) > 0) continue;
    logits[static_cast<std::size_t>(row * of.inputs[0].shape.columns())] = nan;
    of.feed.labels[static_cast<std::size_t>(row)] = 0;
  }
  return of;
}

}  // namespace

std::vector<Case> metric_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < rounds; ++round) {
    const TopKOp top{.k = some_number(random, 1, 9)};
    cases.push_back(of_classes(random, "match labels", MatchLabelsOp{}));
    cases.push_back(of_classes(random, "top k", top));
    cases.push_back(of_numbers(random, "match binary labels", MatchBinaryLabelsOp{}));
    cases.push_back(of_numbers(random, "absolute error", AbsoluteErrorOp{}));
    cases.push_back(
        with_equal_logits(of_classes(random, "match labels, equal", MatchLabelsOp{}), random));
    cases.push_back(with_equal_logits(of_classes(random, "top k, equal", top), random));
    cases.push_back(with_equal_logits(
        of_numbers(random, "match binary labels, equal", MatchBinaryLabelsOp{}), random));
  }
  return cases;
}

}  // namespace trainyard::runtime
