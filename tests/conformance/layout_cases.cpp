#include <algorithm>
#include <numeric>

#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

Shape some_shape(Random& random, std::int64_t rank) {
  Shape shape;
  const std::int64_t most = rank <= 3 ? 13 : rank == 4 ? 7 : 4;
  for (std::int64_t i = 0; i < rank; ++i) shape.append(some_number(random, 1, most));
  return shape;
}

Case of_one(Random& random, const std::string& name, const Op& op, const Shape& shape) {
  FeedData feed{.examples = some_number(random, 1, 9)};
  std::vector<Input> inputs{example_input(random, feed.examples, shape)};
  return case_of(name, op, std::move(inputs), std::move(feed));
}

Case reshape_case(Random& random) {
  const Shape shape = some_shape(random, some_number(random, 0, 6));
  Shape to;
  if (random() % 2 == 0) {
    to = {shape.elements()};
  } else {
    for (std::size_t axis = shape.rank(); axis-- > 0;) to.append(shape[axis]);
  }
  return of_one(random, "reshape", ReshapeOp{.to = to}, shape);
}

Case transpose_case(Random& random, int round) {
  Shape shape = some_shape(random, some_number(random, 1, 6));
  // Sides of several squares (grid/strides.h).
  if (round % 4 == 1) shape = {some_number(random, 1, 70), some_number(random, 1, 70)};
  if (round % 4 == 2) {
    shape = {some_number(random, 1, 4), some_number(random, 5, 40), some_number(random, 1, 3),
             some_number(random, 5, 40)};
  }
  std::vector<std::int64_t> axes(shape.rank());
  std::iota(axes.begin(), axes.end(), 0);
  std::shuffle(axes.begin(), axes.end(), random);
  if (round % 4 == 1) axes = {1, 0};
  return of_one(random, "transpose",
                TransposeOp{.axes = AxisNumbers(std::span<const std::int64_t>(axes))}, shape);
}

Case concat_case(Random& random) {
  FeedData feed{.examples = some_number(random, 1, 9)};
  const Shape shape = some_shape(random, some_number(random, 1, 5));
  const auto axis =
      static_cast<std::size_t>(some_number(random, 0, static_cast<std::int64_t>(shape.rank()) - 1));
  std::vector<Input> inputs;
  for (std::int64_t left = some_number(random, 1, 5); left > 0; --left) {
    Shape one;
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      one.append(i == axis ? some_number(random, 1, 9) : shape[i]);
    }
    inputs.push_back(example_input(random, feed.examples, one));
    inputs.back().wants_gradient = random() % 4 != 0;
  }
  return case_of("concat", ConcatOp{.axis = axis}, std::move(inputs), std::move(feed));
}

Case slice_case(Random& random) {
  const Shape shape = some_shape(random, some_number(random, 1, 6));
  const auto axis =
      static_cast<std::size_t>(some_number(random, 0, static_cast<std::int64_t>(shape.rank()) - 1));
  const std::int64_t begin = some_number(random, 0, shape[axis] - 1);
  const std::int64_t size = some_number(random, 1, shape[axis] - begin);
  return of_one(random, "slice", SliceOp{.axis = axis, .begin = begin, .size = size}, shape);
}

Case pad_case(Random& random) {
  const Shape shape = some_shape(random, some_number(random, 0, 6));
  PadOp op;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t most = random() % 2 == 0 ? 0 : 3;
    op.before.append(some_number(random, 0, most));
    op.after.append(
        some_number(random, 0, shape.rank() > 4 ? std::min<std::int64_t>(most, 1) : most));
  }
  op.value = random() % 2 == 0 ? 0.0F : -1.5F;
  return of_one(random, "pad", op, shape);
}

}  // namespace

std::vector<Case> layout_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < rounds; ++round) {
    cases.push_back(reshape_case(random));
    cases.push_back(transpose_case(random, round));
    cases.push_back(concat_case(random));
    cases.push_back(slice_case(random));
    cases.push_back(pad_case(random));
  }
  return cases;
}

}  // namespace trainyard::runtime
