#include "runtime/graph/ops/image.h"

#include "runtime/math/ops/pool.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Shape windows_shape(const Window& window, const Shape& x, std::int64_t channels) {
  ENSURE(x.rank() == 3 && x[0] == window.height.pixels && x[1] == window.width.pixels);
  ENSURE(window.outputs() > 0);
  return {window.height.outputs(), window.width.outputs(), channels};
}

// Of a sequence's kernel.
Shape with_height(const Shape& kernel) {
  return kernel.rank() == 3 ? Shape{1, kernel[0], kernel[1], kernel[2]} : kernel;
}

// Of convolutions: the last size of the kernel is how many outputs it makes of a channel, or of
// all.
void check_kernel(const Window& window, std::span<const Shape> inputs, const Shape& kernel,
                  std::int64_t outputs) {
  ENSURE(inputs.size() == 2 || inputs.size() == 3);
  ENSURE(kernel.rank() == 4 && kernel[0] == window.height.kernel);
  ENSURE(kernel[1] == window.width.kernel && kernel[2] == inputs[0].columns());
  if (inputs.size() == 3) ENSURE(inputs[2] == Shape({outputs}));
}

Shape pool_shape(const Window& window, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1);
  return windows_shape(window, inputs[0], inputs[0].columns());
}

}  // namespace

OpTraits traits_of(const Conv2dOp&) {
  return {.backward_reads_inputs = true, .has_gradients_apart = true};
}
OpTraits traits_of(const DepthwiseConv2dOp&) {
  return {.backward_reads_inputs = true, .has_gradients_apart = true};
}
OpTraits traits_of(const MaxPool2dOp&) { return {}; }
OpTraits traits_of(const AvgPool2dOp&) { return {}; }
OpTraits traits_of(const GlobalAvgPoolOp&) { return {}; }

Shape shape_of(const Conv2dOp& op, std::span<const Shape> inputs) {
  check_kernel(op.window, inputs, with_height(inputs[1]), inputs[1].columns());
  return windows_shape(op.window, inputs[0], inputs[1].columns());
}

Shape shape_of(const DepthwiseConv2dOp& op, std::span<const Shape> inputs) {
  const std::int64_t outputs = inputs[0].columns() * inputs[1].columns();
  check_kernel(op.window, inputs, inputs[1], outputs);
  return windows_shape(op.window, inputs[0], outputs);
}

Shape shape_of(const MaxPool2dOp& op, std::span<const Shape> inputs) {
  ENSURE(op.window.taps() <= max_pool_taps_max);
  return pool_shape(op.window, inputs);
}

Shape shape_of(const AvgPool2dOp& op, std::span<const Shape> inputs) {
  return pool_shape(op.window, inputs);
}

Shape shape_of(const GlobalAvgPoolOp&, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && inputs[0].rank() >= 2);
  return {inputs[0].columns()};
}

}  // namespace trainyard::runtime
