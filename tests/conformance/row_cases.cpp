#include <algorithm>

#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

Case row_case(Random& random, const std::string& name, const Op& op, int round) {
  FeedData feed{.examples = some_number(random, 1, 17)};
  Shape shape;
  for (std::int64_t rank = some_number(random, 0, 2); rank > 0; --rank) {
    shape.append(some_number(random, 1, 5));
  }
  shape.append(round % 4 == 1 ? some_number(random, 200, 700) : some_number(random, 1, 40));
  // With some rows whose exponentials are all but one too small, and some of small numbers.
  const float most = round % 3 == 0 ? 2.0F : round % 3 == 1 ? 60.0F : 1e-13F;
  std::vector<Input> inputs{example_input(random, feed.examples, shape, -most, most)};
  std::vector<float>& values = inputs[0].values;
  if (round % 5 == 2) std::fill_n(values.begin(), shape.columns(), 0.0F);
  return case_of(name, op, std::move(inputs), std::move(feed));
}

}  // namespace

std::vector<Case> row_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < rounds; ++round) {
    cases.push_back(row_case(random, "softmax", SoftmaxOp{}, round));
    cases.push_back(row_case(random, "log_softmax", LogSoftmaxOp{}, round));
    cases.push_back(row_case(random, "l2_normalize", L2NormalizeOp{}, round));
  }
  return cases;
}

}  // namespace trainyard::runtime
