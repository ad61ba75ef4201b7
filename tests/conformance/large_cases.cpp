#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

struct Sides {
  std::int64_t rows, in, out;
};

Case large_product(Random& random, const Sides& of, bool has_transposed_kernel, bool has_bias) {
  const Shape kernel = has_transposed_kernel ? Shape{of.out, of.in} : Shape{of.in, of.out};
  std::vector<Input> inputs{example_input(random, of.rows, {of.in}), fixed_input(random, kernel)};
  if (has_bias) inputs.push_back(fixed_input(random, {of.out}));
  return case_of("large matmul", MatMulOp{.has_transposed_kernel = has_transposed_kernel},
                 std::move(inputs), {.examples = of.rows});
}

Case large_matrices(Random& random, bool a, bool b) {
  constexpr std::int64_t examples = 4;
  std::vector<Input> inputs{example_input(random, examples, a ? Shape{512, 256} : Shape{256, 512}),
                            example_input(random, examples, b ? Shape{264, 512} : Shape{512, 264})};
  return case_of("large matrix product", MatrixProductOp{.lies = {.a = a, .b = b}},
                 std::move(inputs), {.examples = examples});
}

Case large_conv(Random& random, std::int64_t kernel, std::int64_t stride, bool has_bias) {
  const WindowAxis axis{
      .pixels = 28, .kernel = kernel, .stride = stride, .before = kernel / 2, .after = kernel / 2};
  constexpr std::int64_t channels = 72;
  constexpr std::int64_t filters = 136;
  const std::int64_t outputs = axis.outputs() * axis.outputs();
  const std::int64_t each = outputs * kernel * kernel * channels * filters;
  const std::int64_t examples = (1 << 27) / each + 1;
  std::vector<Input> inputs{example_input(random, examples, {28, 28, channels}),
                            fixed_input(random, {kernel, kernel, channels, filters})};
  if (has_bias) inputs.push_back(fixed_input(random, {filters}));
  return case_of("large conv2d", Conv2dOp{{axis, axis}}, std::move(inputs), {.examples = examples});
}

}  // namespace

std::vector<Case> large_cases(Random& random, int) {
  std::vector<Case> cases;
  for (const bool has_transposed_kernel : {false, true}) {
    cases.push_back(large_product(random, {512, 512, 520}, has_transposed_kernel, true));
    cases.push_back(large_product(random, {515, 513, 519}, has_transposed_kernel, false));
  }
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) cases.push_back(large_matrices(random, a, b));
  }
  cases.push_back(large_conv(random, 3, 1, false));
  cases.push_back(large_conv(random, 3, 2, true));
  cases.push_back(large_conv(random, 1, 1, true));
  return cases;
}

}  // namespace trainyard::runtime
