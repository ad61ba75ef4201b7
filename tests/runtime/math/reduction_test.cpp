#include "runtime/math/ops/reduction.h"

#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {

TEST_CASE("sums and maxima are right for every length", "[reduction]") {
  for (std::size_t count = 1; count < 70; ++count) {
    const std::vector<float> values = random_floats(count, count);
    double expected = 0;
    float largest = values[0];
    for (const float value : values) {
      expected += static_cast<double>(value);
      largest = std::max(largest, value);
    }
    REQUIRE(static_cast<double>(sum(values)) == Approx(expected).margin(1e-5));
    REQUIRE(sum_in_double(values) == Approx(expected).margin(1e-12));
    REQUIRE(maximum(values) == largest);
  }
  REQUIRE(sum({}) == 0.0F);
}

TEST_CASE("the sum over rows is column by column, and adds where asked to", "[reduction]") {
  const std::vector<float> matrix{1, 2, 3, 10, 20, 30};
  std::vector<float> sums{5, 5, 5};
  sum_rows(tensor_of(matrix, {2, 3}), tensor_of(sums, {3}), Write::overwrite);
  REQUIRE(sums == std::vector<float>{11, 22, 33});
  sum_rows(tensor_of(matrix, {2, 3}), tensor_of(sums, {3}), Write::add);
  REQUIRE(sums == std::vector<float>{22, 44, 66});
}

}  // namespace trainyard::runtime
