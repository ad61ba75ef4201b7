#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

// Leading axes, and the two of a matrix, the other way round if it lies transposed.
Shape matrices(const Shape& leading, std::int64_t rows, std::int64_t columns, bool is_turned) {
  Shape shape = leading;
  shape.append(is_turned ? columns : rows);
  shape.append(is_turned ? rows : columns);
  return shape;
}

struct ProductSizes {
  std::int64_t examples, rows, columns, depth;
};

Case matrix_product_case(Random& random, const ProductSizes& sizes) {
  const MatrixProductOp op{.lies = {.a = random() % 2 == 0, .b = random() % 2 == 0}};
  Shape leading;
  const std::int64_t axes = some_number(random, 0, 2);
  for (std::int64_t axis = 0; axis < axes; ++axis) leading.append(some_number(random, 1, 3));
  FeedData feed{.examples = sizes.examples};
  std::vector<Input> inputs{
      example_input(random, feed.examples, matrices(leading, sizes.rows, sizes.depth, op.lies.a)),
      example_input(random, feed.examples,
                    matrices(leading, sizes.depth, sizes.columns, op.lies.b))};
  inputs[random() % 2].wants_gradient = random() % 4 != 0;
  return case_of("matrix product", op, std::move(inputs), std::move(feed));
}

Case fields_case(Random& random, const std::string& name, const Op& op, std::int64_t fields) {
  const std::int64_t features =
      random() % 4 == 0 ? some_number(random, 120, 280) : some_number(random, 1, 40);
  FeedData feed{.examples = some_number(random, 1, 9)};
  std::vector<Input> inputs{example_input(random, feed.examples, {fields, features}, -2, 2)};
  return case_of(name, op, std::move(inputs), std::move(feed));
}

}  // namespace

std::vector<Case> product_cases(Random& random, int rounds) {
  std::vector<Case> cases;
  for (int round = 0; round < rounds; ++round) {
    cases.push_back(
        matrix_product_case(random, {some_number(random, 1, 6), some_number(random, 1, 40),
                                     some_number(random, 1, 40), some_number(random, 1, 40)}));
    // Several blocks of the depth in one of the three products.
    const std::int64_t deep = some_number(random, 300, 700);
    const std::int64_t a = some_number(random, 1, 9);
    const std::int64_t b = some_number(random, 1, 9);
    switch (round % 3) {
      case 0: cases.push_back(matrix_product_case(random, {1, deep, a, b})); break;
      case 1: cases.push_back(matrix_product_case(random, {1, a, deep, b})); break;
      default: cases.push_back(matrix_product_case(random, {1, a, b, deep})); break;
    }
    if (round % 16 == 3) cases.push_back(matrix_product_case(random, {130, 5, 7, 3}));
    cases.push_back(fields_case(random, "factorize", FactorizeOp{}, some_number(random, 1, 20)));
    if (round % 3 == 0) {
      cases.push_back(
          fields_case(random, "factorize many", FactorizeOp{}, some_number(random, 60, 600)));
    }
    cases.push_back(
        fields_case(random, "pairwise dot", PairwiseDotOp{}, some_number(random, 2, 12)));
  }
  return cases;
}

}  // namespace trainyard::runtime
