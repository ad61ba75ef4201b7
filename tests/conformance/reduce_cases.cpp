#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

// Of the shape's axes some, none or all, in any order.
AxisNumbers some_axes(Random& random, const Shape& shape) {
  std::vector<std::int64_t> axes(shape.rank());
  std::iota(axes.begin(), axes.end(), 0);
  std::shuffle(axes.begin(), axes.end(), random);
  axes.resize(
      static_cast<std::size_t>(some_number(random, 0, static_cast<std::int64_t>(shape.rank()))));
  return AxisNumbers(std::span<const std::int64_t>(axes));
}

Shape some_shape(Random& random) {
  Shape shape;
  const std::int64_t rank = some_number(random, 0, 6);
  const std::int64_t most = rank <= 3 ? 15 : rank == 4 ? 7 : 4;
  for (std::int64_t i = 0; i < rank; ++i) shape.append(some_number(random, 1, most));
  return shape;
}

Case reduce_case(Random& random, Reduction kind, int round) {
  FeedData feed{.examples = some_number(random, 1, 9)};
  Shape shape = some_shape(random);
  AxisNumbers axes = some_axes(random, shape);
  const int size = round % 16;
  if (size == 1) {  // several blocks of rows, and two levels of them
    shape = {some_number(random, 65, 300), some_number(random, 1, 20)};
    axes = {0};
  } else if (size == 3) {
    shape = {some_number(random, 4000, 4300), some_number(random, 1, 2)};
    axes = {0};
  } else if (size == 5) {
    shape = {some_number(random, 2, 5), some_number(random, 65, 140), some_number(random, 2, 5),
             some_number(random, 17, 40)};
    axes = {1, 3};
    feed.examples = some_number(random, 1, 3);
  } else if (size == 7) {
    shape = {some_number(random, 1000, 3000)};
    axes = {0};
  } else if (size == 9) {  // so many that each largest has one thread
    shape = {some_number(random, 2, 4), 2, some_number(random, 2100, 2200)};
    axes = {0};
    feed.examples = 4;
  } else if (size == 11) {
    shape = {2, some_number(random, 2, 3), 2, some_number(random, 2100, 2200)};
    axes = {0, 2};
    feed.examples = 5;
  }
  std::vector<Input> inputs{example_input(random, feed.examples, shape)};
  if (kind == Reduction::max && round % 2 == 0) {  // equal numbers and those that are none
    for (float& value : inputs[0].values) {
      value = std::floor(value * 3);
      if (random() % 8 == 0) value = -0.0F;
      if (random() % 8 == 0) value = std::numeric_limits<float>::quiet_NaN();
      if (random() % 32 == 0) value = -std::numeric_limits<float>::infinity();
    }
  }
  const ReduceOp op{.kind = kind, .axes = axes, .keeps_axes = random() % 2 == 0};
  return case_of("reduce " + std::to_string(static_cast<int>(kind)), op, std::move(inputs),
                 std::move(feed));
}

}  // namespace

std::vector<Case> reduce_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < rounds; ++round) {
    for (const Reduction kind : {Reduction::sum, Reduction::mean, Reduction::max}) {
      cases.push_back(reduce_case(random, kind, round));
    }
  }
  return cases;
}

}  // namespace trainyard::runtime
