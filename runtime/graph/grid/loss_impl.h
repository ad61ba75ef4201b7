// The kernels of loss.h.
#pragma once

#include <cmath>

#include "runtime/graph/grid/elements.h"
#include "runtime/graph/grid/loss.h"
#include "runtime/graph/grid/softmax_rows.h"

namespace trainyard::runtime {

template <class Grid>
Needs LossOps<Grid>::needs(const SoftmaxCrossEntropyOp&, std::span<const Shape> inputs,
                           const Shape&) {
  return {.saved = inputs[0].elements()};  // probabilities
}

template <class Grid>
Needs LossOps<Grid>::needs(const SigmoidCrossEntropyOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs LossOps<Grid>::needs(const SquaredErrorOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs LossOps<Grid>::needs(const HuberOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
void LossOps<Grid>::forward(Grid& grid, const SoftmaxCrossEntropyOp& op, const ForwardCall& call) {
  const ConstTensor& logits = call.inputs[0];
  softmax_cross_entropy_on(grid, LabelledRows{call.feed.labels.data()},
                           {logits.data, logits.shape.rows(), logits.shape.columns()},
                           static_cast<float>(op.label_smoothing), call.output.data,
                           call.pass == Pass::train ? call.saved.data : nullptr);
}

template <class Grid>
void LossOps<Grid>::backward(Grid& grid, const SoftmaxCrossEntropyOp& op,
                             const BackwardCall& call) {
  const GradientTarget& logits = call.input_gradients[0];
  if (logits.into.data == nullptr) return;
  const Shape& shape = call.inputs[0].shape;
  softmax_cross_entropy_gradient_on(grid, LabelledRows{call.feed.labels.data()},
                                    {call.saved.data, shape.rows(), shape.columns()},
                                    static_cast<float>(op.label_smoothing),
                                    call.output_gradient.data, logits.into.data, logits.write);
}

template <class Grid>
void LossOps<Grid>::forward(Grid& grid, const SigmoidCrossEntropyOp& op, const ForwardCall& call) {
  const float* const logits = call.inputs[0].data;
  const std::int32_t* const labels = call.feed.labels.data();
  float* const losses = call.output.data;
  const auto smoothing = static_cast<float>(op.label_smoothing);
  grid.each(call.output.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const float s = labels[i] == 1 ? -logits[i] : logits[i];
    const auto rest = static_cast<double>(exp_float(-std::fabs(s)));
    const float above = s < 0.0F ? 0.0F : s;
    const float loss = above + static_cast<float>(log_of_double(1.0 + rest));
    losses[i] = smoothing > 0 ? loss - smoothing / 2 * s : loss;
  });
}

template <class Grid>
void LossOps<Grid>::backward(Grid& grid, const SigmoidCrossEntropyOp& op,
                             const BackwardCall& call) {
  const GradientTarget& target = call.input_gradients[0];
  if (target.into.data == nullptr) return;
  const std::int32_t* const labels = call.feed.labels.data();
  const float* const logits = call.inputs[0].data;
  const float* const upstream = call.output_gradient.data;
  const auto smoothing = static_cast<float>(op.label_smoothing);
  float* const to = target.into.data;
  const Write write = target.write;
  grid.each(target.into.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const auto label = static_cast<float>(labels[i]);
    const float smoothed = label + smoothing * (0.5F - label);
    put(to[i], upstream[i] * (sigmoid_float(logits[i]) - smoothed), write);
  });
}

template <class Grid>
void LossOps<Grid>::forward(Grid& grid, const SquaredErrorOp&, const ForwardCall& call) {
  const float* const predictions = call.inputs[0].data;
  const float* const targets = call.feed.targets.data();
  float* const losses = call.output.data;
  grid.each(call.output.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const float difference = predictions[i] - targets[i];
    losses[i] = difference * difference;
  });
}

template <class Grid>
void LossOps<Grid>::backward(Grid& grid, const SquaredErrorOp&, const BackwardCall& call) {
  const GradientTarget& target = call.input_gradients[0];
  if (target.into.data == nullptr) return;
  const float* const predictions = call.inputs[0].data;
  const float* const targets = call.feed.targets.data();
  const float* const upstream = call.output_gradient.data;
  float* const to = target.into.data;
  const Write write = target.write;
  grid.each(target.into.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const float difference = predictions[i] - targets[i];
    put(to[i], upstream[i] * (2.0F * difference), write);
  });
}

template <class Grid>
void LossOps<Grid>::forward(Grid& grid, const HuberOp& op, const ForwardCall& call) {
  const auto delta = static_cast<float>(op.delta);
  const float* const predictions = call.inputs[0].data;
  const float* const targets = call.feed.targets.data();
  float* const losses = call.output.data;
  grid.each(call.output.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const float distance = std::fabs(predictions[i] - targets[i]);
    losses[i] = distance > delta ? delta * (distance - 0.5F * delta)  //
                                 : 0.5F * (distance * distance);
  });
}

template <class Grid>
void LossOps<Grid>::backward(Grid& grid, const HuberOp& op, const BackwardCall& call) {
  const GradientTarget& target = call.input_gradients[0];
  if (target.into.data == nullptr) return;
  const auto delta = static_cast<float>(op.delta);
  const float* const predictions = call.inputs[0].data;
  const float* const targets = call.feed.targets.data();
  const float* const upstream = call.output_gradient.data;
  float* const to = target.into.data;
  const Write write = target.write;
  grid.each(target.into.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const float difference = predictions[i] - targets[i];
    const float below = difference > delta ? delta : difference;  // NaN stays
    const float clipped = below < -delta ? -delta : below;
    put(to[i], upstream[i] * clipped, write);
  });
}

}  // namespace trainyard::runtime
