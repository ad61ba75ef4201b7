#include "runtime/graph/cpu/image.h"

#include <algorithm>

#include "runtime/graph/cpu/by_examples.h"
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
  conv2d_bias_gradient(call.output_gradient, bias.into, bias.write, call.threads);
}

// A pool's winners: a byte for each value of its output.
std::span<std::uint8_t> winners_in(const Tensor& saved, const Shape& output) {
  return {reinterpret_cast<std::uint8_t*>(saved.data), static_cast<std::size_t>(output.elements())};
}
std::span<const std::uint8_t> winners_in(const ConstTensor& saved, const Shape& output) {
  return {reinterpret_cast<const std::uint8_t*>(saved.data),
          static_cast<std::size_t>(output.elements())};
}
template <class T>
std::span<T> winners_in(std::span<T> all, const Shape& output, const Part& part) {
  if (all.empty()) return all;
  const auto each = static_cast<std::size_t>(output.elements() / output[0]);
  return all.subspan(static_cast<std::size_t>(part.begin) * each,
                     static_cast<std::size_t>(part.count()) * each);
}

constexpr double pool_nanoseconds = 0.3;       // of a tap of an output
constexpr double depthwise_nanoseconds = 0.4;  // the same

// The examples of a batch, of which windows go over the image.
Items images_of(const Window& window, const Shape& output, double nanoseconds) {
  const std::int64_t each = output.elements() / std::max<std::int64_t>(1, output[0]);
  return {.count = output[0],
          .nanoseconds_each = nanoseconds * static_cast<double>(each * window.taps())};
}

}  // namespace

Needs cpu_needs(const Conv2dOp& op, std::span<const Shape> inputs, const Shape& output,
                std::int64_t threads) {
  const Conv2d conv = conv_of(op, inputs[0], output);
  const std::size_t bytes =
      std::max({conv2d_scratch_bytes(conv, ConvPass::forward, threads),
                conv2d_scratch_bytes(conv, ConvPass::x_gradient, threads),
                conv2d_scratch_bytes(conv, ConvPass::kernel_gradient, threads)});
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
          .y = call.output,
          .threads = call.threads},
         bytes_of(call.scratch));
}

void run_on_cpu(const DepthwiseConv2dOp& op, const ForwardCall& call) {
  const Items images = images_of(op.window, call.output.shape, depthwise_nanoseconds);
  call.threads.split(images, [&](const Part& part) {
    depthwise_conv2d(op.window, {.x = examples_in(call.inputs[0], part),
                                 .kernel = call.inputs[1],
                                 .bias = filter_bias(call),
                                 .y = examples_in(call.output, part)});
  });
}

void run_on_cpu(const MaxPool2dOp& op, const ForwardCall& call) {
  const Shape& output = call.output.shape;
  const auto winners =
      call.pass == Pass::train ? winners_in(call.saved, output) : std::span<std::uint8_t>{};
  call.threads.split(images_of(op.window, output, pool_nanoseconds), [&](const Part& part) {
    max_pool2d(op.window, examples_in(call.inputs[0], part), examples_in(call.output, part),
               winners_in(winners, output, part));
  });
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
                            .write = kernel.write,
                            .threads = call.threads},
                           bytes_of(call.scratch));
  }
  add_filter_bias_gradient(call);
  if (x.into.data != nullptr) {
    conv2d_x_gradient(conv,
                      {.y_gradient = call.output_gradient,
                       .kernel = {call.inputs[1].data, kernel_shape(conv)},
                       .x_gradient = x.into,
                       .write = x.write,
                       .threads = call.threads},
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
                                                 .write = kernel.write,
                                                 .threads = call.threads});
  }
  add_filter_bias_gradient(call);
  if (x.into.data != nullptr) {
    const Items images = images_of(op.window, call.output_gradient.shape, depthwise_nanoseconds);
    call.threads.split(images, [&](const Part& part) {
      depthwise_conv2d_x_gradient(op.window, {.y_gradient = examples_in(call.output_gradient, part),
                                              .kernel = call.inputs[1],
                                              .x_gradient = examples_in(x.into, part),
                                              .write = x.write});
    });
  }
}

void run_back_on_cpu(const MaxPool2dOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  const Shape& output = call.output_gradient.shape;
  const auto winners = winners_in(call.saved, output);
  call.threads.split(images_of(op.window, output, pool_nanoseconds), [&](const Part& part) {
    max_pool2d_gradient(op.window, winners_in(winners, output, part),
                        examples_in(call.output_gradient, part), examples_in(x.into, part),
                        x.write);
  });
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
