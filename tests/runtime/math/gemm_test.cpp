// Every kernel against a plain loop that adds in the documented order: the bits must agree.
#include "runtime/math/ops/cpu/gemm.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "runtime/math/aligned_buffer.h"

namespace trainyard::runtime {
namespace {

std::vector<float> random_values(std::int64_t count, std::mt19937_64& random) {
  std::uniform_real_distribution<float> values(-1, 1);
  std::vector<float> made(static_cast<std::size_t>(count));
  for (float& value : made) value = values(random);
  return made;
}

float at(const Operand& operand, std::int64_t row, std::int64_t column) {
  return operand.data[row * operand.row_stride + column * operand.column_stride];
}

// One element: chains of fused multiply-adds, a chain for each block of the depth.
float element(const Product& product, std::int64_t row, std::int64_t column, float before) {
  float value = product.write == Write::add ? before
                : product.bias != nullptr   ? product.bias[column]
                                            : 0.0F;
  const std::int64_t block = depth_block_of(product.depth);
  for (std::int64_t begin = 0; begin < product.depth; begin += block) {
    float sum = 0;
    for (std::int64_t i = begin; i < std::min(begin + block, product.depth); ++i) {
      sum = std::fma(at(product.left, row, i), at(product.right, i, column), sum);
    }
    value += sum;
  }
  return value;
}

struct Shapes {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
};

enum class Layout { as_it_lies, transposed };

Operand operand(const std::vector<float>& values, std::int64_t rows, std::int64_t columns,
                Layout layout) {
  if (layout == Layout::as_it_lies) return {values.data(), columns, 1};
  return {values.data(), 1, rows};
}

// The same with a right side that was packed before.
void check_packed(Product product, GemmKernel kernel, std::span<const float> before,
                  std::span<const float> expected) {
  AlignedBuffer packed(
      static_cast<std::size_t>(packed_right_elements(product.depth, product.columns)));
  pack_right(product, packed.data(), kernel);
  std::vector<float> out(before.begin(), before.end());
  product.out = out.data();
  product.right = {};  // it is not read again
  product.packed_right = packed.data();
  gemm(product, kernel);
  CHECK(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)) == 0);
}

void check(const Shapes& shapes, Layout left, Layout right, Write write, bool with_bias) {
  INFO(shapes.rows << " x " << shapes.columns << " x " << shapes.depth << " left "
                   << static_cast<int>(left) << " right " << static_cast<int>(right) << " write "
                   << static_cast<int>(write) << " bias " << with_bias);
  std::mt19937_64 random(7);
  // Of exactly the needed size: the address sanitizer sees packing read beyond.
  const auto left_values = random_values(shapes.rows * shapes.depth, random);
  const auto right_values = random_values(shapes.depth * shapes.columns, random);
  const auto bias = random_values(shapes.columns, random);
  // What lies behind the product stays as it was: whole tiles are written unseen by sanitizers.
  constexpr std::int64_t behind = 64;
  const auto before = random_values(shapes.rows * shapes.columns + behind, random);
  std::vector<float> out = before;
  Product product{.rows = shapes.rows,
                  .columns = shapes.columns,
                  .depth = shapes.depth,
                  .left = operand(left_values, shapes.rows, shapes.depth, left),
                  .right = operand(right_values, shapes.depth, shapes.columns, right),
                  .bias = with_bias ? bias.data() : nullptr,
                  .out = out.data(),
                  .write = write};
  std::vector<float> expected = before;
  for (std::int64_t row = 0; row < shapes.rows; ++row) {
    for (std::int64_t column = 0; column < shapes.columns; ++column) {
      float& value = expected[static_cast<std::size_t>(row * shapes.columns + column)];
      value = element(product, row, column, value);
    }
  }
  ThreadTeam five({.threads = 5, .least_nanoseconds = 0});
  const bool is_divided = shapes.rows > 12 || shapes.columns > 16;
  for (const GemmKernel kernel : {GemmKernel::avx2, GemmKernel::avx512}) {
    if (!is_available(kernel)) continue;
    for (const Threads& threads : {Threads{}, Threads{five}}) {
      if (threads.count() > 1 && !is_divided) continue;
      product.threads = threads;
      out = before;
      gemm(product, kernel);
      INFO("kernel " << static_cast<int>(kernel) << ", threads " << threads.count());
      CHECK(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)) == 0);
      check_packed(product, kernel, before, expected);
    }
  }
}

void check_all(const Shapes& shapes) {
  for (const Layout left : {Layout::as_it_lies, Layout::transposed}) {
    for (const Layout right : {Layout::as_it_lies, Layout::transposed}) {
      check(shapes, left, right, Write::overwrite, true);
      check(shapes, left, right, Write::overwrite, false);
      check(shapes, left, right, Write::add, false);
    }
  }
}

}  // namespace

TEST_CASE("small products have the bits of the plain loop, at every edge", "[gemm]") {
  constexpr std::array<std::int64_t, 12> sizes{1, 2, 3, 5, 6, 7, 8, 9, 12, 13, 17, 33};
  for (const std::int64_t rows : sizes) {
    for (const std::int64_t columns : sizes) {
      for (const std::int64_t depth : {1, 7, 8, 9, 20}) check_all({rows, columns, depth});
    }
  }
}

TEST_CASE("products of several blocks have the bits of the plain loop", "[gemm]") {
  check_all({241, 449, 10});   // one more than a block of rows
  check_all({241, 840, 319});  // of columns, too
  check_all({13, 400, 321});   // of depth
  check_all({100, 100, 784});
  check_all({250, 270, 650});
  check_all({500, 33, 90});
  check_all({30, 1000, 90});
  check_all({13, 1700, 640});  // of depth and of columns, the last of these shorter
}

TEST_CASE("a product that is made transposed has the bits of the plain loop", "[gemm]") {
  // The right side would be packed for a few rows. All are made in several parts.
  check_all({13, 600, 330});
  check_all({40, 520, 700});
  check({100, 2000, 700}, Layout::transposed, Layout::transposed, Write::overwrite, false);
  check({100, 2000, 700}, Layout::transposed, Layout::transposed, Write::add, false);
}

TEST_CASE("a product without depth is the bias, or nothing", "[gemm]") {
  check({3, 5, 0}, Layout::as_it_lies, Layout::as_it_lies, Write::overwrite, true);
  check({3, 5, 0}, Layout::as_it_lies, Layout::as_it_lies, Write::overwrite, false);
  check({3, 5, 0}, Layout::as_it_lies, Layout::as_it_lies, Write::add, false);
  check({24, 64, 0}, Layout::transposed, Layout::as_it_lies, Write::add, false);
}

TEST_CASE("blocks of the depth are of one size, as far as that goes", "[gemm]") {
  CHECK(depth_block_of(0) == 8);
  CHECK(depth_block_of(100) == 104);
  CHECK(depth_block_of(320) == 320);
  CHECK(depth_block_of(321) == 168);
  CHECK(depth_block_of(784) == 264);
  CHECK(depth_block_of(2048) == 296);
}

}  // namespace trainyard::runtime
