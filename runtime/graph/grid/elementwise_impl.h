// The kernels of elementwise.h.
#pragma once

#include <algorithm>

#include "runtime/graph/cpu/batch_axes.h"
#include "runtime/graph/grid/elements.h"
#include "runtime/graph/grid/elementwise.h"
#include "runtime/graph/grid/elementwise_binary.h"
#include "runtime/graph/grid/row_sums.h"
#include "runtime/math/elements/prelu.h"
#include "runtime/math/ops/cpu/activation_functions.h"

namespace trainyard::runtime {

template <class Grid>
Needs ElementwiseOps<Grid>::needs(const ActivationOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs ElementwiseOps<Grid>::needs(const PreluOp&, std::span<const Shape> inputs, const Shape&) {
  return {.scratch = row_sums_scratch(inputs[0].rows(), inputs[0].columns())};
}

template <class Grid>
Needs ElementwiseOps<Grid>::needs(const AffineOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs ElementwiseOps<Grid>::needs(const ClipOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs ElementwiseOps<Grid>::needs(const AddOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs ElementwiseOps<Grid>::needs(const BinaryOp&, std::span<const Shape> inputs,
                                  const Shape& output) {
  std::int64_t scratch = 0;
  for (const Shape& input : inputs) {
    scratch = std::max(scratch, combine_gradient_room(of_rank(input, output), output));
  }
  return {.scratch = scratch};
}

// An activation as what a kernel takes along.
template <class Function>
struct ValueOf {
  Function function;
  TRAINYARD_BOTH float operator()(float x) const { return function.value(x); }
};
template <class Function>
struct GradientOf {
  Function function;
  TRAINYARD_BOTH float operator()(float kept, float upstream) const {
    return function.gradient(kept, upstream);
  }
};

template <class Grid>
void ElementwiseOps<Grid>::forward(Grid& grid, const ActivationOp& op, const ForwardCall& call) {
  with_function(op.function, [&](const auto& function) {
    map_on(grid, call.inputs[0], call.output, ValueOf<std::decay_t<decltype(function)>>{function});
  });
}

template <class Grid>
void ElementwiseOps<Grid>::backward(Grid& grid, const ActivationOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  with_function(op.function, [&](const auto& function) {
    using Function = std::decay_t<decltype(function)>;
    const ConstTensor kept = Function::reads == Side::input ? call.inputs[0] : call.output;
    map_two_on(grid, kept, call.output_gradient, x.into, x.write, GradientOf<Function>{function});
  });
}

template <class Grid>
void ElementwiseOps<Grid>::forward(Grid& grid, const PreluOp&, const ForwardCall& call) {
  const std::int64_t channels = call.output.shape.columns();
  const float* const x = call.inputs[0].data;
  const float* const slope = call.inputs[1].data;
  float* const y = call.output.data;
  grid.each(call.output.elements(),
            [=] TRAINYARD_KERNEL(std::int64_t i) { y[i] = prelu_of(x[i], slope[i % channels]); });
}

// The slopes first: x's gradient may lie where y's does.
template <class Grid>
void ElementwiseOps<Grid>::backward(Grid& grid, const PreluOp&, const BackwardCall& call) {
  const GradientTarget& of_x = call.input_gradients[0];
  const GradientTarget& of_slope = call.input_gradients[1];
  const Shape& shape = call.output_gradient.shape;
  const std::int64_t channels = shape.columns();
  const float* const x = call.inputs[0].data;
  const float* const slope = call.inputs[1].data;
  const float* const upstream = call.output_gradient.data;
  if (of_slope.into.data != nullptr) {
    const float* const sums = sum_over_rows(
        grid, 1, shape.rows(), channels, 1, call.scratch,
        [=] TRAINYARD_KERNEL(std::int64_t, std::int64_t row, std::int64_t channel, std::int64_t) {
          const std::int64_t i = row * channels + channel;
          return prelu_slope_gradient(x[i], upstream[i]);
        });
    const Write write = of_slope.write;
    float* const to = of_slope.into.data;
    grid.each(channels, [=] TRAINYARD_KERNEL(std::int64_t i) { put(to[i], sums[i], write); });
  }
  if (of_x.into.data == nullptr) return;
  const Write write = of_x.write;
  float* const to = of_x.into.data;
  grid.each(shape.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    put(to[i], prelu_x_gradient(x[i], slope[i % channels], upstream[i]), write);
  });
}

template <class Grid>
void ElementwiseOps<Grid>::forward(Grid& grid, const AffineOp& op, const ForwardCall& call) {
  const Affine by = op.by;
  map_on(grid, call.inputs[0], call.output,
         [=] TRAINYARD_KERNEL(float x) { return x * by.scale + by.shift; });
}

template <class Grid>
void ElementwiseOps<Grid>::backward(Grid& grid, const AffineOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  const float scale = op.by.scale;
  map_two_on(grid, call.output_gradient, call.output_gradient, x.into, x.write,
             [=] TRAINYARD_KERNEL(float upstream, float) { return upstream * scale; });
}

template <class Grid>
void ElementwiseOps<Grid>::forward(Grid& grid, const ClipOp& op, const ForwardCall& call) {
  const Limits limits = op.limits;
  map_on(grid, call.inputs[0], call.output, [=] TRAINYARD_KERNEL(float x) {
    const float above = x < limits.least ? limits.least : x;
    return above > limits.most ? limits.most : above;
  });
}

template <class Grid>
void ElementwiseOps<Grid>::backward(Grid& grid, const ClipOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  const Limits limits = op.limits;
  map_two_on(grid, call.inputs[0], call.output_gradient, x.into, x.write,
             [=] TRAINYARD_KERNEL(float value, float upstream) {
               const float not_below = value < limits.least ? 0.0F : upstream;
               return value > limits.most ? 0.0F : not_below;
             });
}

template <class Grid>
void ElementwiseOps<Grid>::forward(Grid& grid, const AddOp&, const ForwardCall& call) {
  map_two_on(grid, call.inputs[0], call.inputs[1], call.output, Write::overwrite,
             [=] TRAINYARD_KERNEL(float a, float b) { return a + b; });
}

// The first of them may be what flows in, where that lies.
template <class Grid>
void ElementwiseOps<Grid>::backward(Grid& grid, const AddOp&, const BackwardCall& call) {
  for (const GradientTarget& target : call.input_gradients) {
    const bool is_there = target.into.data == call.output_gradient.data;
    if (target.into.data == nullptr || is_there) continue;
    map_two_on(grid, call.output_gradient, call.output_gradient, target.into, target.write,
               [=] TRAINYARD_KERNEL(float upstream, float) { return upstream; });
  }
}

template <class Grid>
void ElementwiseOps<Grid>::forward(Grid& grid, const BinaryOp& op, const ForwardCall& call) {
  const Shape& y = call.output.shape;
  const ConstTensor a{call.inputs[0].data, of_rank(call.inputs[0].shape, y)};
  const ConstTensor b{call.inputs[1].data, of_rank(call.inputs[1].shape, y)};
  with_op(op.op, [&](const auto& function) { combine_on(grid, a, b, call.output, function); });
}

template <class Grid>
void ElementwiseOps<Grid>::backward(Grid& grid, const BinaryOp& op, const BackwardCall& call) {
  const Shape& y = call.output_gradient.shape;
  for (const Towards of : {Towards::a, Towards::b}) {
    const GradientTarget& target = call.input_gradients[of == Towards::a ? 0 : 1];
    if (target.into.data == nullptr) continue;
    const CombineGradient gradient{.a = {call.inputs[0].data, of_rank(call.inputs[0].shape, y)},
                                   .b = {call.inputs[1].data, of_rank(call.inputs[1].shape, y)},
                                   .y_gradient = call.output_gradient,
                                   .of = of,
                                   .of_gradient = target.into,
                                   .write = target.write};
    combine_gradient_on(grid, op.op, gradient, call.scratch);
  }
}

}  // namespace trainyard::runtime
