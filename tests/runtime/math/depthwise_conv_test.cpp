#include "runtime/math/ops/depthwise_conv.h"

#include "runtime/math/ops/activation.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/conv_case.h"
#include "tests/runtime/math/float64.h"

namespace trainyard::runtime {
namespace {

struct DepthwiseShape {
  std::int64_t examples;
  Window window;
  std::int64_t channels;
  std::int64_t multiplier;

  [[nodiscard]] std::int64_t outputs() const { return channels * multiplier; }
  [[nodiscard]] Shape x() const {
    return {examples, window.height.pixels, window.width.pixels, channels};
  }
  [[nodiscard]] Shape kernel() const {
    return {window.height.kernel, window.width.kernel, channels, multiplier};
  }
  [[nodiscard]] Shape y() const {
    return {examples, window.height.outputs(), window.width.outputs(), outputs()};
  }
};

ConvValues depthwise_values(const DepthwiseShape& shape) {
  const auto count = [](const Shape& of) { return static_cast<std::size_t>(of.elements()); };
  return {random_floats(count(shape.x()), 1), random_floats(count(shape.kernel()), 2),
          random_floats(static_cast<std::size_t>(shape.outputs()), 3),
          random_floats(count(shape.y()), 4)};
}

std::vector<DepthwiseShape> depthwise_shapes() {
  std::vector<DepthwiseShape> shapes;
  std::int64_t channels = 1;
  for (const ConvShape& shape : small_conv_shapes()) {
    shapes.push_back({shape.examples, shape.conv().window, channels, 1 + channels % 3});
    channels = channels % 150 + 7;
  }
  return shapes;
}

struct DepthwiseResults {
  std::vector<float> y;
  std::vector<float> x_gradient;
  std::vector<float> kernel_gradient;
};

// Adds to the gradients where asked to; y is made anew.
void run_depthwise(const DepthwiseShape& shape, const ConvValues& values, Write write,
                   DepthwiseResults& into) {
  const ConstTensor x = tensor_of(values.x, shape.x());
  const ConstTensor kernel = tensor_of(values.kernel, shape.kernel());
  const ConstTensor upstream = tensor_of(values.y_gradient, shape.y());
  depthwise_conv2d(shape.window, {.x = x,
                                  .kernel = kernel,
                                  .bias = tensor_of(values.bias, {shape.outputs()}),
                                  .y = tensor_of(into.y, shape.y())});
  depthwise_conv2d_x_gradient(shape.window, {.y_gradient = upstream,
                                             .kernel = kernel,
                                             .x_gradient = tensor_of(into.x_gradient, shape.x()),
                                             .write = write});
  depthwise_conv2d_kernel_gradient(
      shape.window, {.x = x,
                     .y_gradient = upstream,
                     .kernel_gradient = tensor_of(into.kernel_gradient, shape.kernel()),
                     .write = write});
}

DepthwiseResults run_depthwise(const DepthwiseShape& shape, const ConvValues& values) {
  DepthwiseResults results{std::vector<float>(values.y_gradient.size()),
                           std::vector<float>(values.x.size(), 7.0F),
                           std::vector<float>(values.kernel.size(), 7.0F)};
  run_depthwise(shape, values, Write::overwrite, results);
  return results;
}

// Calls visit(place in x, in the kernel, in y) for each product.
template <class Visit>
void for_each_depthwise_product(const DepthwiseShape& shape, Visit visit) {
  for_each_window_tap(shape.window, shape.examples,
                      [&](std::int64_t out, std::int64_t tap, std::int64_t x) {
                        for (std::int64_t i = 0; i < shape.outputs(); ++i) {
                          visit(static_cast<std::size_t>(x * shape.channels + i / shape.multiplier),
                                static_cast<std::size_t>(tap * shape.outputs() + i),
                                static_cast<std::size_t>(out * shape.outputs() + i));
                        }
                      });
}

const DepthwiseShape odd_depthwise{3,
                                   {{.pixels = 9, .kernel = 3, .stride = 2, .before = 1},
                                    {.pixels = 7, .kernel = 5, .before = 2, .after = 2}},
                                   5,
                                   2};

}  // namespace

TEST_CASE("convolutions by channel are those of the definition, whatever their window",
          "[depthwise]") {
  for (const DepthwiseShape& shape : depthwise_shapes()) {
    INFO(text_of(shape.window) << shape.channels << " x " << shape.multiplier);
    const ConvValues values = depthwise_values(shape);
    std::vector<double> y(values.y_gradient.size());
    std::vector<double> x_gradient(values.x.size());
    std::vector<double> kernel_gradient(values.kernel.size());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = wide(values.bias[i % values.bias.size()]);
    for_each_depthwise_product(shape, [&](std::size_t x, std::size_t kernel, std::size_t out) {
      y[out] += wide(values.x[x]) * wide(values.kernel[kernel]);
      x_gradient[x] += wide(values.y_gradient[out]) * wide(values.kernel[kernel]);
      kernel_gradient[kernel] += wide(values.y_gradient[out]) * wide(values.x[x]);
    });
    const DepthwiseResults got = run_depthwise(shape, values);
    require_close(got.y, rounded(y), 1e-5);
    require_close(got.x_gradient, rounded(x_gradient), 1e-5);
    require_close(got.kernel_gradient, rounded(kernel_gradient), 1e-5);
  }
}

// With one output for each channel the depth of a product is that of one channel of conv2d.
TEST_CASE("a convolution of one channel has the bits of conv2d", "[depthwise]") {
  for (const ConvShape& conv : small_conv_shapes()) {
    const DepthwiseShape shape{conv.examples, conv.conv().window, 1, 6};
    const ConvShape same{conv.examples, conv.height, conv.width, 1, 6};
    INFO(text_of(same));
    const ConvValues values = depthwise_values(shape);
    const DepthwiseResults got = run_depthwise(shape, values);
    require_same_bits(got.y, run_conv(same, values));
    require_same_bits(got.x_gradient, run_conv_x_gradient(same, values));
  }
}

TEST_CASE("a convolution by channel has its differences for gradients", "[depthwise]") {
  const ConvValues values = depthwise_values(odd_depthwise);
  const DepthwiseResults base = run_depthwise(odd_depthwise, values);
  const auto slope = [&](std::vector<float> ConvValues::*of, const std::vector<float>& gradient) {
    const auto along = random_floats((values.*of).size(), 11);
    ConvValues other = values;
    other.*of = moved(values.*of, along, 1);
    const double difference = dot(run_depthwise(odd_depthwise, other).y, values.y_gradient) -
                              dot(base.y, values.y_gradient);
    CHECK(difference == Approx(dot(gradient, along)).epsilon(1e-4));
  };
  slope(&ConvValues::x, base.x_gradient);
  slope(&ConvValues::kernel, base.kernel_gradient);
}

TEST_CASE("convolutions by channel are PyTorch's", "[depthwise][golden]") {
  const auto golden = load_golden("images.json");
  for (const auto& reference : golden["depthwise"]) {
    const DepthwiseShape shape{reference["examples"], golden_window(reference),
                               reference["channels"], reference["multiplier"]};
    INFO(text_of(shape.window));
    const ConvValues values{reference["x"], reference["kernel"], reference["bias"],
                            reference["upstream"]};
    const DepthwiseResults got = run_depthwise(shape, values);
    const auto expected = [&](const char* name) {
      return reference[name].get<std::vector<float>>();
    };
    require_close(got.y, expected("y"), 1e-5);
    require_close(got.x_gradient, expected("x_gradient"), 1e-5);
    require_close(got.kernel_gradient, expected("kernel_gradient"), 1e-5);
  }
}

TEST_CASE("gradients of convolutions by channel add, and a relu is as one after it",
          "[depthwise]") {
  const ConvValues values = depthwise_values(odd_depthwise);
  DepthwiseResults got = run_depthwise(odd_depthwise, values);
  DepthwiseResults expected = got;
  std::ranges::fill(got.x_gradient, 100.0F);
  std::ranges::fill(got.kernel_gradient, 100.0F);
  run_depthwise(odd_depthwise, values, Write::add, got);
  for (float& value : expected.x_gradient) value += 100.0F;
  for (float& value : expected.kernel_gradient) value += 100.0F;
  require_close(got.x_gradient, expected.x_gradient, 1e-5);
  require_close(got.kernel_gradient, expected.kernel_gradient, 1e-5);

  const Tensor y = tensor_of(got.y, odd_depthwise.y());
  activate(Nonlinearity::relu, tensor_of(expected.y, odd_depthwise.y()), y);
  std::vector<float> within(got.y.size());
  depthwise_conv2d(odd_depthwise.window,
                   {.x = tensor_of(values.x, odd_depthwise.x()),
                    .kernel = tensor_of(values.kernel, odd_depthwise.kernel()),
                    .bias = tensor_of(values.bias, {odd_depthwise.outputs()}),
                    .finish = Finish::relu,
                    .y = tensor_of(within, odd_depthwise.y())});
  require_same_bits(within, got.y);
}

}  // namespace trainyard::runtime
