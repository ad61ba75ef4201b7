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

namespace {

// The definition, as it is said in words.
float sum_of_column(const std::vector<float>& matrix, std::int64_t rows, std::int64_t columns,
                    std::int64_t column) {
  std::vector<float> nodes;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (row % 64 == 0) nodes.push_back(0);
    nodes.back() += matrix[static_cast<std::size_t>(row * columns + column)];
  }
  while (nodes.size() > 1) {
    std::vector<float> above;
    for (std::size_t i = 0; i < nodes.size(); i += 2) {
      above.push_back(i + 1 < nodes.size() ? nodes[i] + nodes[i + 1] : nodes[i]);
    }
    nodes = above;
  }
  return nodes.empty() ? 0 : nodes[0];
}

}  // namespace

TEST_CASE("sums over rows are a tree of blocks of 64, to the bit", "[reduction]") {
  for (const std::int64_t rows : {0, 1, 63, 64, 65, 128, 129, 192, 300, 449, 1024, 1100}) {
    for (const std::int64_t columns : {1, 10, 127, 128, 129, 300}) {
      const auto matrix = random_floats(static_cast<std::size_t>(rows * columns), 7);
      std::vector<float> sums(static_cast<std::size_t>(columns), 3);
      sum_rows(tensor_of(matrix, {rows, columns}), tensor_of(sums, {columns}), Write::overwrite);
      for (std::int64_t column = 0; column < columns; ++column) {
        REQUIRE(sums[static_cast<std::size_t>(column)] ==
                sum_of_column(matrix, rows, columns, column));
      }
    }
  }
}

TEST_CASE("sums over rows are the same tree by any number of threads", "[reduction]") {
  for (const std::int64_t threads : {2, 3, 7}) {
    ThreadTeam team({.threads = threads, .least_nanoseconds = 0});
    for (const std::int64_t rows : {0, 1, 65, 1100, 4097, 12400, 20000}) {
      for (const std::int64_t columns : {1, 17, 128, 300, 1000}) {
        if (rows * columns > 1'300'000) continue;
        INFO(threads << " threads, " << rows << " x " << columns);
        const auto matrix = random_floats(static_cast<std::size_t>(rows * columns), 9);
        const auto before = random_floats(static_cast<std::size_t>(columns), 10);
        for (const Write write : {Write::overwrite, Write::add}) {
          std::vector<float> alone = before;
          std::vector<float> together = before;
          sum_rows(tensor_of(matrix, {rows, columns}), tensor_of(alone, {columns}), write);
          sum_rows(tensor_of(matrix, {rows, columns}), tensor_of(together, {columns}), write, team);
          REQUIRE(together == alone);
        }
      }
    }
  }
}

}  // namespace trainyard::runtime
