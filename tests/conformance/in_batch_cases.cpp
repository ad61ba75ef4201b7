#include <algorithm>

#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

struct InBatchSizes {
  std::int64_t examples;
  std::int64_t features;
};

std::vector<Input> towers_of(Random& random, const InBatchSizes& sizes) {
  return {example_input(random, sizes.examples, {sizes.features}),
          example_input(random, sizes.examples, {sizes.features})};
}

Case softmax(Random& random, const InBatchSizes& sizes, double temperature) {
  FeedData feed{.examples = sizes.examples};
  std::vector<Input> inputs = towers_of(random, sizes);
  if (some_number(random, 0, 1) == 1) {
    inputs.push_back(example_input(random, sizes.examples, {1}, -9, 0));
    inputs[2].wants_gradient = some_number(random, 0, 1) == 1;
  }
  const std::int64_t unwanted = some_number(random, 0, 5);
  if (unwanted < 2) inputs[static_cast<std::size_t>(unwanted)].wants_gradient = false;
  return case_of("in-batch softmax", InBatchSoftmaxOp{.temperature = temperature},
                 std::move(inputs), std::move(feed));
}

// Some items are there twice, so that scores are equal.
Case recall(Random& random, const InBatchSizes& sizes) {
  FeedData feed{.examples = sizes.examples};
  std::vector<Input> inputs = towers_of(random, sizes);
  std::vector<float>& items = inputs[1].values;
  for (std::int64_t i = 1; i < sizes.examples; ++i) {
    if (some_number(random, 0, 2) > 0) continue;
    const std::int64_t other = some_number(random, 0, i - 1);
    std::copy_n(items.begin() + other * sizes.features, sizes.features,
                items.begin() + i * sizes.features);
  }
  return case_of("recall in batch", RecallInBatchOp{.k = some_number(random, 1, 9)},
                 std::move(inputs), std::move(feed));
}

}  // namespace

std::vector<Case> in_batch_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < rounds; ++round) {
    const InBatchSizes sizes{some_number(random, 1, 50), some_number(random, 1, 40)};
    cases.push_back(softmax(random, sizes, round % 3 == 0 ? 1 : 0.07));
    cases.push_back(recall(random, sizes));
    if (round % 8 != 0) continue;
    // More than one block of the depth, of each of the products.
    cases.push_back(softmax(random, {some_number(random, 2, 9), 700}, 0.5));
    cases.push_back(softmax(random, {350, some_number(random, 1, 9)}, 0.5));
    cases.push_back(recall(random, {some_number(random, 2, 9), 700}));
  }
  return cases;
}

}  // namespace trainyard::runtime
