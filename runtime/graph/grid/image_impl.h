// The kernels of image.h.
#pragma once

#include "runtime/graph/grid/countable.h"
#include "runtime/graph/grid/image.h"
#include "runtime/graph/grid/image_conv.h"
#include "runtime/graph/grid/image_depthwise.h"
#include "runtime/graph/grid/image_pool.h"

namespace trainyard::runtime {

inline void require_countable_image(const Shape& x, const Shape& y) {
  require_countable(x);
  require_countable(y);
}

template <class Grid>
Needs ImageOps<Grid>::needs(const Conv2dOp& op, std::span<const Shape> inputs, const Shape& output,
                            const Grid& grid) {
  require_countable_image(inputs[0], output);
  require_countable(inputs[1].elements());
  const Conv2d conv = conv_of(op.window, inputs[0], output);
  const Needs needs = conv_needs(conv, output[0]);
  return {.scratch = std::max(needs.scratch, library_scratch(grid, conv, output[0]))};
}

template <class Grid>
Needs ImageOps<Grid>::needs(const DepthwiseConv2dOp& op, std::span<const Shape> inputs,
                            const Shape& output) {
  require_countable_image(inputs[0], output);
  require_countable(inputs[1].elements());
  return channels_needs(op.window, inputs[1], output);
}

// A winner is a byte.
template <class Grid>
Needs ImageOps<Grid>::needs(const MaxPool2dOp&, std::span<const Shape> inputs,
                            const Shape& output) {
  require_countable_image(inputs[0], output);
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(float));
  return {.saved = (output.elements() + bytes - 1) / bytes};
}

template <class Grid>
Needs ImageOps<Grid>::needs(const AvgPool2dOp&, std::span<const Shape> inputs,
                            const Shape& output) {
  require_countable_image(inputs[0], output);
  return {};
}

template <class Grid>
Needs ImageOps<Grid>::needs(const GlobalAvgPoolOp&, std::span<const Shape> inputs, const Shape&) {
  const Shape& x = inputs[0];
  require_countable(x);
  return {.scratch = row_sums_scratch(pixels_of_example(x), x.columns(), 1, x[0])};
}

template <class Grid>
void ImageOps<Grid>::forward(Grid& grid, const Conv2dOp& op, const ForwardCall& call) {
  convolve(grid, conv_of(op.window, call.inputs[0].shape, call.output.shape), call);
}

template <class Grid>
void ImageOps<Grid>::backward(Grid& grid, const Conv2dOp& op, const BackwardCall& call) {
  const Conv2d conv = conv_of(op.window, call.inputs[0].shape, call.output_gradient.shape);
  if (call.input_gradients[1].into.data != nullptr) convolve_back_to_kernel(grid, conv, call);
  add_up_filter_bias(grid, call);
  if (call.input_gradients[0].into.data != nullptr) convolve_back_to_x(grid, conv, call);
}

template <class Grid>
void ImageOps<Grid>::forward(Grid& grid, const DepthwiseConv2dOp& op, const ForwardCall& call) {
  convolve_channels(grid, op.window, call);
}

template <class Grid>
void ImageOps<Grid>::backward(Grid& grid, const DepthwiseConv2dOp& op, const BackwardCall& call) {
  if (call.input_gradients[1].into.data != nullptr) {
    convolve_channels_back_to_kernel(grid, op.window, call);
  }
  add_up_filter_bias(grid, call);
  if (call.input_gradients[0].into.data != nullptr) {
    convolve_channels_back_to_x(grid, op.window, call);
  }
}

template <class Grid>
void ImageOps<Grid>::forward(Grid& grid, const MaxPool2dOp& op, const ForwardCall& call) {
  pool_max(grid, op.window, call);
}

template <class Grid>
void ImageOps<Grid>::backward(Grid& grid, const MaxPool2dOp& op, const BackwardCall& call) {
  if (call.input_gradients[0].into.data != nullptr) pool_max_back(grid, op.window, call);
}

template <class Grid>
void ImageOps<Grid>::forward(Grid& grid, const AvgPool2dOp& op, const ForwardCall& call) {
  pool_mean(grid, op.window, call);
}

template <class Grid>
void ImageOps<Grid>::backward(Grid& grid, const AvgPool2dOp& op, const BackwardCall& call) {
  if (call.input_gradients[0].into.data != nullptr) pool_mean_back(grid, op.window, call);
}

template <class Grid>
void ImageOps<Grid>::forward(Grid& grid, const GlobalAvgPoolOp&, const ForwardCall& call) {
  pool_all(grid, call);
}

template <class Grid>
void ImageOps<Grid>::backward(Grid& grid, const GlobalAvgPoolOp&, const BackwardCall& call) {
  if (call.input_gradients[0].into.data != nullptr) pool_all_back(grid, call);
}

}  // namespace trainyard::runtime
