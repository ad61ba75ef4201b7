#include "runtime/graph/cpu/image.h"

#include <algorithm>

#include "runtime/graph/cpu/room.h"
#include "runtime/math/ops/conv.h"
#include "runtime/math/ops/depthwise_conv.h"
#include "runtime/math/ops/pool.h"

namespace trainyard::runtime {
namespace {

Conv2d conv_of(const Conv2dOp& op, const Shape& x, const Shape& output) {
  return {.window = op.window, .channels = x.columns(), .filters = output.columns()};
}

// The kernel as an image's, where it is a sequence's.
Shape kernel_shape(const Conv2d& conv) {
  const Window& window = conv.window;
  return {window.height.kernel, window.width.kernel, conv.channels, conv.filters};
}

ConstTensor filter_bias(const ForwardCall& call) {
  return call.inputs.size() == 3 ? call.inputs[2] : ConstTensor{};
}

void add_filter_bias_gradient(const BackwardCall& call) {
  if (call.inputs.size() != 3 || call.input_gradients[2].into.data == nullptr) return;
  const GradientTarget& bias = call.input_gradients[2];
  conv2d_bias_gradient(call.output_gradient, bias.into, bias.write);
}

// A pool's winners: a byte for each value of its output.
std::span<std::uint8_t> winners_in(const Tensor& saved, const Shape& output) {
  return {reinterpret_cast<std::uint8_t*>(saved.data), static_cast<std::size_t>(output.elements())};
}
std::span<const std::uint8_t> winners_in(const ConstTensor& saved, const Shape& output) {
  return {reinterpret_cast<const std::uint8_t*>(saved.data),
          static_cast<std::size_t>(output.elements())};
}

}  // namespace

Needs cpu_needs(const Conv2dOp& op, std::span<const Shape> inputs, const Shape& output) {
  const Conv2d conv = conv_of(op, inputs[0], output);
  const std::size_t bytes = std::max({conv2d_scratch_bytes(conv, ConvPass::forward),
                                      conv2d_scratch_bytes(conv, ConvPass::x_gradient),
                                      conv2d_scratch_bytes(conv, ConvPass::kernel_gradient)});
  return {.scratch = elements_for(bytes)};
}

Needs cpu_needs(const MaxPool2dOp&, std::span<const Shape>, const Shape& output) {
  return {.saved = elements_for(static_cast<std::size_t>(output.elements()))};
}

void run_on_cpu(const Conv2dOp& op, const ForwardCall& call) {
  const Conv2d conv = conv_of(op, call.inputs[0].shape, call.output.shape);
  conv2d(conv,
         {.x = call.inputs[0],
          .kernel = {call.inputs[1].data, kernel_shape(conv)},
          .bias = filter_bias(call),
          .y = call.output},
         bytes_of(call.scratch));
}

void run_on_cpu(const DepthwiseConv2dOp& op, const ForwardCall& call) {
  depthwise_conv2d(
      op.window,
      {.x = call.inputs[0], .kernel = call.inputs[1], .bias = filter_bias(call), .y = call.output});
}

void run_on_cpu(const MaxPool2dOp& op, const ForwardCall& call) {
  const bool is_kept = call.pass == Pass::train;
  max_pool2d(op.window, call.inputs[0], call.output,
             is_kept ? winners_in(call.saved, call.output.shape) : std::span<std::uint8_t>{});
}

void run_on_cpu(const AvgPool2dOp& op, const ForwardCall& call) {
  avg_pool2d(op.window, call.inputs[0], call.output);
}

void run_on_cpu(const GlobalAvgPoolOp&, const ForwardCall& call) {
  global_avg_pool(call.inputs[0], call.output);
}

void run_back_on_cpu(const Conv2dOp& op, const BackwardCall& call) {
  const Conv2d conv = conv_of(op, call.inputs[0].shape, call.output.shape);
  const GradientTarget& x = call.input_gradients[0];
  const GradientTarget& kernel = call.input_gradients[1];
  if (kernel.into.data != nullptr) {
    conv2d_kernel_gradient(conv,
                           {.x = call.inputs[0],
                            .y_gradient = call.output_gradient,
                            .kernel_gradient = {kernel.into.data, kernel_shape(conv)},
                            .write = kernel.write},
                           bytes_of(call.scratch));
  }
  add_filter_bias_gradient(call);
  if (x.into.data != nullptr) {
    conv2d_x_gradient(conv,
                      {.y_gradient = call.output_gradient,
                       .kernel = {call.inputs[1].data, kernel_shape(conv)},
                       .x_gradient = x.into,
                       .write = x.write},
                      bytes_of(call.scratch));
  }
}

void run_back_on_cpu(const DepthwiseConv2dOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  const GradientTarget& kernel = call.input_gradients[1];
  if (kernel.into.data != nullptr) {
    depthwise_conv2d_kernel_gradient(op.window, {.x = call.inputs[0],
                                                 .y_gradient = call.output_gradient,
                                                 .kernel_gradient = kernel.into,
                                                 .write = kernel.write});
  }
  add_filter_bias_gradient(call);
  if (x.into.data != nullptr) {
    depthwise_conv2d_x_gradient(op.window, {.y_gradient = call.output_gradient,
                                            .kernel = call.inputs[1],
                                            .x_gradient = x.into,
                                            .write = x.write});
  }
}

void run_back_on_cpu(const MaxPool2dOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  max_pool2d_gradient(op.window, winners_in(call.saved, call.output_gradient.shape),
                      call.output_gradient, x.into, x.write);
}

void run_back_on_cpu(const AvgPool2dOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  avg_pool2d_gradient(op.window, call.output_gradient, x.into, x.write);
}

void run_back_on_cpu(const GlobalAvgPoolOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  global_avg_pool_gradient(call.output_gradient, x.into, x.write);
}

}  // namespace trainyard::runtime
