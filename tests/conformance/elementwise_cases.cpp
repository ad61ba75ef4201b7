#include <cmath>
#include <limits>

#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

Shape some_shape(Random& random) {
  Shape shape;
  const std::int64_t rank = some_number(random, 1, 3);
  for (std::int64_t i = 0; i < rank; ++i) shape.append(some_number(random, 1, 19));
  return shape;
}

// Of an op of one input.
Case of_one(Random& random, const std::string& name, const Op& op, float low, float high) {
  FeedData feed{.examples = some_number(random, 1, 33)};
  std::vector<Input> inputs{example_input(random, feed.examples, some_shape(random), low, high)};
  return case_of(name, op, std::move(inputs), std::move(feed));
}

// Some gradients are not wanted.
bool is_wanted(Random& random) { return random() % 4 != 0; }

Case prelu_case(Random& random, int round) {
  FeedData feed{.examples = some_number(random, 1, 33)};
  Shape shape = some_shape(random);
  if (round % 8 == 1) {  // rows for more than one level of their sum
    feed.examples = some_number(random, 65, 80);
    shape = {some_number(random, 64, 70), some_number(random, 1, 3)};
  }
  std::vector<Input> inputs{example_input(random, feed.examples, shape),
                            fixed_input(random, {shape.columns()})};
  inputs[0].wants_gradient = is_wanted(random);
  inputs[1].wants_gradient = !inputs[0].wants_gradient || is_wanted(random);
  return case_of("prelu", PreluOp{}, std::move(inputs), std::move(feed));
}

// Equal numbers and those that are none.
void make_alike(Random& random, std::vector<float>& values) {
  for (float& value : values) {
    value = std::floor(value);
    if (random() % 16 == 0) value = -0.0F;
    if (random() % 32 == 0) value = std::numeric_limits<float>::quiet_NaN();
  }
}

// An operand of y's shape, of which some axes are stretched, and the first ones may be missing.
Shape operand_of(Random& random, const Shape& y, bool is_whole) {
  const std::size_t missing = is_whole ? 0 : random() % (y.rank() + 1);
  const unsigned stretched = is_whole ? 0 : static_cast<unsigned>(random() % 128);
  Shape shape;
  for (std::size_t axis = missing; axis < y.rank(); ++axis) {
    shape.append(((stretched >> axis) & 1U) != 0 ? 1 : y[axis]);
  }
  return shape;
}

Case binary_case(Random& random, Binary op, int round) {
  FeedData feed{.examples = some_number(random, 1, 9)};
  Shape y;
  const std::int64_t rank = some_number(random, 0, 5);
  for (std::int64_t i = 0; i < rank; ++i) y.append(some_number(random, 1, rank < 4 ? 13 : 5));
  if (round % 8 == 3) y = {some_number(random, 60, 200), some_number(random, 1, 5)};
  if (round % 16 == 7) y = {some_number(random, 4096, 4200), 2};
  Shape a = operand_of(random, y, round % 2 == 0);
  Shape b = operand_of(random, y, round % 4 == 0);
  if (random() % 2 == 0) std::swap(a, b);
  const float least = op == Binary::div ? 0.1F : -3;
  std::vector<Input> inputs{example_input(random, feed.examples, a, -3, 3),
                            example_input(random, feed.examples, b, least, 3)};
  if (op == Binary::max || op == Binary::min) {
    for (Input& input : inputs) make_alike(random, input.values);
  }
  inputs[0].wants_gradient = is_wanted(random);
  inputs[1].wants_gradient = is_wanted(random);
  return case_of("binary " + std::to_string(static_cast<int>(op)), BinaryOp{.op = op},
                 std::move(inputs), std::move(feed));
}

}  // namespace

std::vector<Case> elementwise_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < rounds; ++round) {
    for (const auto& [name, nonlinearity, domain] : nonlinearities) {
      const float alpha = round % 2 == 0 ? 1.0F : 0.3F;
      const float low = domain == Domain::above_zero ? 0.001F : -9.0F;
      cases.push_back(of_one(random, std::string(name),
                             ActivationOp{.function = {nonlinearity, alpha}}, low, 9));
    }
    cases.push_back(of_one(random, "affine", AffineOp{.by = {0.3F, -0.7F}}, -2, 2));
    cases.push_back(of_one(random, "clip", ClipOp{.limits = {-0.5F, 0.75F}}, -2, 2));
    FeedData feed{.examples = some_number(random, 1, 33)};
    const Shape shape = some_shape(random);
    std::vector<Input> inputs{example_input(random, feed.examples, shape),
                              example_input(random, feed.examples, shape)};
    cases.push_back(case_of("add", AddOp{}, std::move(inputs), std::move(feed)));
    cases.push_back(prelu_case(random, round));
    for (int op = 0; op <= static_cast<int>(Binary::min); ++op) {
      cases.push_back(binary_case(random, static_cast<Binary>(op), round));
    }
  }
  return cases;
}

}  // namespace trainyard::runtime
