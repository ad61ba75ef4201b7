#include "runtime/math/ops/matmul.h"

#include <algorithm>
#include <span>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/ops/reduction.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {

namespace {

struct Sizes {
  std::int64_t rows;
  std::int64_t in;
  std::int64_t out;
};

// Tiny, vectors on every side, odd, and beyond one block of the depth.
constexpr std::array<Sizes, 8> all_sizes{{{1, 1, 1},
                                          {3, 4, 2},
                                          {1, 50, 1},
                                          {40, 7, 1},
                                          {1, 9, 33},
                                          {17, 31, 13},
                                          {100, 784, 10},
                                          {5, 3000, 6}}};

struct Operands {
  std::vector<float> x;
  std::vector<float> kernel;
  std::vector<float> bias;
  std::vector<float> upstream;
};

std::size_t product(std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); }

Operands random_operands(Sizes s) {
  return {random_floats(product(s.rows, s.in), 1), random_floats(product(s.in, s.out), 2),
          random_floats(product(s.out, 1), 3), random_floats(product(s.rows, s.out), 4)};
}

// left [m, k] * right [k, n] in double, by definition; strides make the transposes.
struct Stride {
  std::int64_t row;
  std::int64_t column;
};
std::vector<float> multiply(const std::vector<float>& left, Stride by_left,
                            const std::vector<float>& right, Stride by_right, Sizes mkn) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < mkn.rows; ++i) {
    for (std::int64_t j = 0; j < mkn.out; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < mkn.in; ++k) {
        sum += static_cast<double>(left[product(i, by_left.row) + product(k, by_left.column)]) *
               static_cast<double>(right[product(k, by_right.row) + product(j, by_right.column)]);
      }
      result.push_back(static_cast<float>(sum));
    }
  }
  return result;
}

}  // namespace

TEST_CASE("products and gradients are those of the definition, in every shape", "[matmul]") {
  for (const Sizes s : all_sizes) {
    INFO(s.rows << " x " << s.in << " x " << s.out);
    const Operands o = random_operands(s);
    const double tolerance = 2e-6 * std::sqrt(static_cast<double>(s.in + s.rows + s.out)) * 3;

    std::vector<float> y(product(s.rows, s.out));
    matmul(tensor_of(o.x, {s.rows, s.in}), tensor_of(o.kernel, {s.in, s.out}), {},
           tensor_of(y, {s.rows, s.out}));
    require_close(y, multiply(o.x, {s.in, 1}, o.kernel, {s.out, 1}, s), tolerance);

    std::vector<float> x_gradient(o.x.size(), 7.0F);
    matmul_x_gradient(tensor_of(o.upstream, {s.rows, s.out}), tensor_of(o.kernel, {s.in, s.out}),
                      tensor_of(x_gradient, {s.rows, s.in}), Write::overwrite);
    require_close(x_gradient,
                  multiply(o.upstream, {s.out, 1}, o.kernel, {1, s.out}, {s.rows, s.out, s.in}),
                  tolerance);

    std::vector<float> kernel_gradient(o.kernel.size(), 7.0F);
    matmul_kernel_gradient(tensor_of(o.x, {s.rows, s.in}), tensor_of(o.upstream, {s.rows, s.out}),
                           tensor_of(kernel_gradient, {s.in, s.out}), Write::overwrite);
    require_close(kernel_gradient,
                  multiply(o.x, {1, s.in}, o.upstream, {s.out, 1}, {s.in, s.rows, s.out}),
                  tolerance);
  }
}

TEST_CASE("a dense layer's products and gradients are PyTorch's", "[matmul][golden]") {
  const auto golden = load_golden("ops.json");
  for (const auto& reference : golden["dense"]) {
    const Sizes s{reference["rows"], reference["in"], reference["out"]};
    const std::vector<float> x = reference["x"];
    const std::vector<float> kernel = reference["kernel"];
    const std::vector<float> bias = reference["bias"];
    const std::vector<float> upstream = reference["upstream"];
    std::vector<float> y(upstream.size());
    std::vector<float> x_gradient(x.size());
    std::vector<float> kernel_gradient(kernel.size());
    std::vector<float> bias_gradient(bias.size());

    const ConstTensor given = tensor_of(upstream, {s.rows, s.out});
    matmul(tensor_of(x, {s.rows, s.in}), tensor_of(kernel, {s.in, s.out}), tensor_of(bias, {s.out}),
           tensor_of(y, {s.rows, s.out}));
    matmul_x_gradient(given, tensor_of(kernel, {s.in, s.out}),
                      tensor_of(x_gradient, {s.rows, s.in}), Write::overwrite);
    matmul_kernel_gradient(tensor_of(x, {s.rows, s.in}), given,
                           tensor_of(kernel_gradient, {s.in, s.out}), Write::overwrite);
    sum_rows(given, tensor_of(bias_gradient, {s.out}), Write::overwrite);

    require_close(y, reference["y"].get<std::vector<float>>(), 1e-5);
    require_close(x_gradient, reference["x_gradient"].get<std::vector<float>>(), 1e-5);
    require_close(kernel_gradient, reference["kernel_gradient"].get<std::vector<float>>(), 1e-5);
    require_close(bias_gradient, reference["bias_gradient"].get<std::vector<float>>(), 1e-5);
  }
}

TEST_CASE("gradients add where asked to", "[matmul]") {
  const Sizes s{17, 31, 13};
  const Operands o = random_operands(s);
  std::vector<float> once(o.kernel.size());
  std::vector<float> added(o.kernel.size(), 100.0F);
  const ConstTensor x = tensor_of(o.x, {s.rows, s.in});
  const ConstTensor upstream = tensor_of(o.upstream, {s.rows, s.out});

  matmul_kernel_gradient(x, upstream, tensor_of(once, {s.in, s.out}), Write::overwrite);
  matmul_kernel_gradient(x, upstream, tensor_of(added, {s.in, s.out}), Write::add);

  for (float& value : once) value += 100.0F;
  require_close(added, once, 1e-4);
}

TEST_CASE("the bits of a product do not depend on where its operands lie", "[matmul]") {
  for (const Sizes s : all_sizes) {
    INFO(s.rows << " x " << s.in << " x " << s.out);
    const Operands o = random_operands(s);
    std::vector<float> expected(o.upstream.size());
    matmul(tensor_of(o.x, {s.rows, s.in}), tensor_of(o.kernel, {s.in, s.out}),
           tensor_of(o.bias, {s.out}), tensor_of(expected, {s.rows, s.out}));
    for (std::size_t shift = 0; shift < alignment_elements; ++shift) {
      AlignedBuffer x(o.x.size() + shift);
      AlignedBuffer kernel(o.kernel.size() + 3 * shift);
      AlignedBuffer y(expected.size() + 5 * shift);
      std::ranges::copy(o.x, x.data() + shift);
      std::ranges::copy(o.kernel, kernel.data() + 3 * shift);
      matmul({x.data() + shift, {s.rows, s.in}}, {kernel.data() + 3 * shift, {s.in, s.out}},
             tensor_of(o.bias, {s.out}), {y.data() + 5 * shift, {s.rows, s.out}});
      require_same_bits({y.data() + 5 * shift, expected.size()}, expected);
    }
  }
}

TEST_CASE("a kernel's gradient by parts has the bits of the whole one", "[matmul]") {
  // Of one block of the depth, of several, with a part that is no whole tiles, too large to pack,
  // of one part.
  for (const Sizes s :
       {Sizes{20, 250, 70}, Sizes{700, 130, 33}, Sizes{2000, 130, 530}, Sizes{20, 120, 70}}) {
    for (const Write write : {Write::overwrite, Write::add}) {
      const Operands o = random_operands(s);
      const auto x = tensor_of(o.x, {s.rows, s.in});
      const auto upstream = tensor_of(o.upstream, {s.rows, s.out});
      std::vector<float> whole = o.kernel;
      std::vector<float> parts = o.kernel;
      matmul_kernel_gradient(x, upstream, tensor_of(whole, {s.in, s.out}), write);
      std::vector<std::int64_t> told;
      matmul_kernel_gradient_by_parts(x, upstream, tensor_of(parts, {s.in, s.out}), write, 120,
                                      [&](std::int64_t first) {
                                        told.push_back(first);
                                        const std::size_t begin = product(first, s.out);
                                        CHECK(std::ranges::equal(std::span(parts).subspan(begin),
                                                                 std::span(whole).subspan(begin)));
                                      });
      CHECK(parts == whole);
      std::vector<std::int64_t> expected;
      for (std::int64_t first = s.in - 120; first > 0; first -= 120) expected.push_back(first);
      CHECK(told == expected);
    }
  }
}

TEST_CASE("leading axes are rows: a product of [2, 3, 4] is that of [6, 4]", "[matmul]") {
  const std::vector<float> x = random_floats(24, 1);
  const std::vector<float> kernel = random_floats(20, 2);
  std::vector<float> deep(30);
  std::vector<float> flat(30);
  matmul(tensor_of(x, {2, 3, 4}), tensor_of(kernel, {4, 5}), {}, tensor_of(deep, {2, 3, 5}));
  matmul(tensor_of(x, {6, 4}), tensor_of(kernel, {4, 5}), {}, tensor_of(flat, {6, 5}));
  require_same_bits(deep, flat);
}

TEST_CASE("a kernel that lies transposed gives the bits of one that does not", "[matmul]") {
  for (const Sizes s : all_sizes) {
    INFO(s.rows << " x " << s.in << " x " << s.out);
    const Operands of = random_operands(s);
    std::vector<float> transposed(of.kernel.size());
    for (std::int64_t i = 0; i < s.in; ++i) {
      for (std::int64_t j = 0; j < s.out; ++j) {
        transposed[product(j, s.in) + product(i, 1)] = of.kernel[product(i, s.out) + product(j, 1)];
      }
    }
    std::vector<float> expected(product(s.rows, s.out));
    std::vector<float> got(expected.size());
    matmul(tensor_of(of.x, {s.rows, s.in}), tensor_of(of.kernel, {s.in, s.out}),
           tensor_of(of.bias, {s.out}), tensor_of(expected, {s.rows, s.out}));
    matmul_transposed(tensor_of(of.x, {s.rows, s.in}), tensor_of(transposed, {s.out, s.in}),
                      tensor_of(of.bias, {s.out}), tensor_of(got, {s.rows, s.out}));
    require_same_bits(got, expected);

    for (const Write write : {Write::overwrite, Write::add}) {
      std::vector<float> x_expected(product(s.rows, s.in), 2.0F);
      std::vector<float> x_got(x_expected.size(), 2.0F);
      matmul_x_gradient(tensor_of(of.upstream, {s.rows, s.out}),
                        tensor_of(of.kernel, {s.in, s.out}), tensor_of(x_expected, {s.rows, s.in}),
                        write);
      matmul_transposed_x_gradient(tensor_of(of.upstream, {s.rows, s.out}),
                                   tensor_of(transposed, {s.out, s.in}),
                                   tensor_of(x_got, {s.rows, s.in}), write);
      require_same_bits(x_got, x_expected);
    }
  }
}

}  // namespace trainyard::runtime
