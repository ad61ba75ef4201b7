#include "runtime/math/ops/conv.h"

#include "runtime/math/ops/activation.h"
#include "tests/golden/golden.h"
#include "tests/runtime/math/conv_case.h"
#include "tests/runtime/math/float64.h"
#include "tests/runtime/math/image_window.h"

namespace trainyard::runtime {
namespace {

// Calls visit(place in x, in the kernel, in y) for each product of the definition.
template <class Visit>
void for_each_conv_product(const ConvShape& shape, Visit visit) {
  const auto size = [](std::int64_t place) { return static_cast<std::size_t>(place); };
  for_each_window_tap(shape.conv().window, shape.examples,
                      [&](std::int64_t out, std::int64_t tap, std::int64_t x) {
                        for (std::int64_t channel = 0; channel < shape.channels; ++channel) {
                          for (std::int64_t filter = 0; filter < shape.filters; ++filter) {
                            visit(size(x * shape.channels + channel),
                                  size((tap * shape.channels + channel) * shape.filters + filter),
                                  size(out * shape.filters + filter));
                          }
                        }
                      });
}

void check_definition(const ConvShape& shape) {
  INFO(text_of(shape));
  const ConvValues values = conv_values(shape);
  std::vector<double> y(values.y_gradient.size());
  std::vector<double> x_gradient(values.x.size());
  std::vector<double> kernel_gradient(values.kernel.size());
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = wide(values.bias[i % values.bias.size()]);
  for_each_conv_product(shape, [&](std::size_t x, std::size_t kernel, std::size_t out) {
    y[out] += wide(values.x[x]) * wide(values.kernel[kernel]);
    x_gradient[x] += wide(values.y_gradient[out]) * wide(values.kernel[kernel]);
    kernel_gradient[kernel] += wide(values.y_gradient[out]) * wide(values.x[x]);
  });
  const auto terms = static_cast<double>(shape.conv().depth() + shape.filters + shape.y().rows());
  const double tolerance = 1e-6 * std::sqrt(terms) * 3;
  require_close(run_conv(shape, values), rounded(y), tolerance);
  require_close(run_conv_x_gradient(shape, values), rounded(x_gradient), tolerance);
  require_close(run_conv_kernel_gradient(shape, values), rounded(kernel_gradient), tolerance);
}

// The rest of these tests is of one shape.
const ConvShape odd_shape{.examples = 5,
                          .height = {.pixels = 9, .kernel = 3, .stride = 2, .before = 1},
                          .width = {.pixels = 7, .kernel = 5, .before = 2, .after = 2},
                          .channels = 6,
                          .filters = 11};

ConvValues golden_values(const nlohmann::json& reference) {
  return {reference["x"], reference["kernel"], reference["bias"], reference["upstream"]};
}

}  // namespace

TEST_CASE("convolutions and gradients are those of the definition, whatever their window",
          "[conv]") {
  for (const ConvShape& shape : small_conv_shapes()) check_definition(shape);
}

TEST_CASE("convolutions of several blocks, strips and panels are those of the definition",
          "[conv]") {
  for (const ConvShape& shape : large_conv_shapes()) check_definition(shape);
}

// A convolution is linear in x and in the kernel: differences need not be small.
TEST_CASE("a convolution's gradients are its differences", "[conv]") {
  const ConvValues values = conv_values(odd_shape);
  const double base = dot(run_conv(odd_shape, values), values.y_gradient);

  const auto slope = [&](std::vector<float> ConvValues::*of, const std::vector<float>& gradient) {
    const auto along = random_floats((values.*of).size(), 11);
    ConvValues other = values;
    other.*of = moved(values.*of, along, 1);
    const double difference = dot(run_conv(odd_shape, other), values.y_gradient) - base;
    CHECK(difference == Approx(dot(gradient, along)).epsilon(1e-4));
  };
  slope(&ConvValues::x, run_conv_x_gradient(odd_shape, values));
  slope(&ConvValues::kernel, run_conv_kernel_gradient(odd_shape, values));
  std::vector<float> bias_gradient(values.bias.size());
  conv2d_bias_gradient(tensor_of(values.y_gradient, odd_shape.y()),
                       tensor_of(bias_gradient, {odd_shape.filters}), Write::overwrite);
  slope(&ConvValues::bias, bias_gradient);
}

TEST_CASE("convolutions and their gradients are PyTorch's", "[conv][golden]") {
  const auto golden = load_golden("images.json");
  for (const auto& reference : golden["conv2d"]) {
    const Window window = golden_window(reference);
    const ConvShape shape{reference["examples"], window.height, window.width, reference["channels"],
                          reference["filters"]};
    INFO(text_of(shape));
    const ConvValues values = golden_values(reference);
    std::vector<float> bias_gradient(values.bias.size());
    conv2d_bias_gradient(tensor_of(values.y_gradient, shape.y()),
                         tensor_of(bias_gradient, {shape.filters}), Write::overwrite);
    const auto expected = [&](const char* name) {
      return reference[name].get<std::vector<float>>();
    };
    require_close(run_conv(shape, values), expected("y"), 1e-5);
    require_close(run_conv_x_gradient(shape, values), expected("x_gradient"), 1e-5);
    require_close(run_conv_kernel_gradient(shape, values), expected("kernel_gradient"), 1e-5);
    require_close(bias_gradient, expected("bias_gradient"), 1e-5);
  }
}

TEST_CASE("a relu in the store has the bits of one after it", "[conv]") {
  for (const ConvShape& shape : {odd_shape, large_conv_shapes()[1]}) {
    const ConvValues values = conv_values(shape);
    const std::vector<float> plain = run_conv(shape, values);
    std::vector<float> after(plain.size());
    activate(Nonlinearity::relu, tensor_of(plain, shape.y()), tensor_of(after, shape.y()));
    std::vector<float> within(plain.size());
    ScratchMemory scratch(conv2d_scratch_bytes(shape.conv(), ConvPass::forward));
    conv2d(shape.conv(),
           {.x = tensor_of(values.x, shape.x()),
            .kernel = tensor_of(values.kernel, shape.kernel()),
            .bias = tensor_of(values.bias, {shape.filters}),
            .finish = Finish::relu,
            .y = tensor_of(within, shape.y())},
           scratch.span());
    require_same_bits(within, after);
  }
}

TEST_CASE("a convolution's bits do not depend on how the batch is divided", "[conv]") {
  for (ConvShape shape : {odd_shape, ConvShape{7,
                                               {.pixels = 4, .kernel = 3, .before = 1, .after = 1},
                                               {.pixels = 4, .kernel = 3, .before = 1, .after = 1},
                                               40,
                                               24}}) {
    const ConvValues values = conv_values(shape);
    const std::vector<float> y = run_conv(shape, values);
    const std::vector<float> x_gradient = run_conv_x_gradient(shape, values);
    const std::vector<float> kernel_gradient = run_conv_kernel_gradient(shape, values);
    const std::int64_t examples = shape.examples;
    const auto x_floats = static_cast<std::size_t>(shape.x().elements() / examples);
    const auto y_floats = static_cast<std::size_t>(shape.y().elements() / examples);
    std::vector<float> added(values.kernel.size(), 0.0F);
    ScratchMemory scratch(conv2d_scratch_bytes(shape.conv(), ConvPass::kernel_gradient));
    for (std::size_t at = 0, count = 1; at < static_cast<std::size_t>(examples); at += count) {
      count = at == 0 ? 1 : 2;
      shape.examples = static_cast<std::int64_t>(count);
      const auto part = [&](const std::vector<float>& of, std::size_t floats) {
        const auto begin = of.begin() + static_cast<std::ptrdiff_t>(at * floats);
        return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(count * floats));
      };
      const ConvValues some{part(values.x, x_floats), values.kernel, values.bias,
                            part(values.y_gradient, y_floats)};
      require_same_bits(run_conv(shape, some), part(y, y_floats));
      require_same_bits(run_conv_x_gradient(shape, some), part(x_gradient, x_floats));
      conv2d_kernel_gradient(shape.conv(),
                             {.x = tensor_of(some.x, shape.x()),
                              .y_gradient = tensor_of(some.y_gradient, shape.y()),
                              .kernel_gradient = tensor_of(added, shape.kernel()),
                              .write = Write::add},
                             scratch.span());
    }
    require_same_bits(added, kernel_gradient);
  }
}

TEST_CASE("gradients of a convolution add where asked to", "[conv]") {
  const ConvValues values = conv_values(odd_shape);
  std::vector<float> expected = run_conv_x_gradient(odd_shape, values);
  for (float& value : expected) value += 100.0F;
  std::vector<float> added(values.x.size(), 100.0F);
  ScratchMemory scratch(conv2d_scratch_bytes(odd_shape.conv(), ConvPass::x_gradient));
  conv2d_x_gradient(odd_shape.conv(),
                    {.y_gradient = tensor_of(values.y_gradient, odd_shape.y()),
                     .kernel = tensor_of(values.kernel, odd_shape.kernel()),
                     .x_gradient = tensor_of(added, odd_shape.x()),
                     .write = Write::add},
                    scratch.span());
  require_close(added, expected, 1e-5);
}

TEST_CASE("the scratch of a convolution is bounded, whatever the batch", "[conv]") {
  const auto axis = [](std::int64_t pixels) {
    return WindowAxis{.pixels = pixels, .kernel = 3, .before = 1, .after = 1};
  };
  const Conv2d conv{{axis(1024), axis(1024)}, 3, 64};
  for (const ConvPass pass : {ConvPass::forward, ConvPass::x_gradient, ConvPass::kernel_gradient}) {
    CHECK(conv2d_scratch_bytes(conv, pass) < std::size_t{2} << 20);
  }
  const Conv2d deep{{axis(7), axis(7)}, 512, 2048};
  CHECK(conv2d_scratch_bytes(deep, ConvPass::kernel_gradient) < std::size_t{2} << 20);
}

}  // namespace trainyard::runtime
