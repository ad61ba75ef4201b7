#include "runtime/graph/cpu/loss.h"

#include "runtime/math/ops/loss.h"

namespace trainyard::runtime {

Needs cpu_needs(const SoftmaxCrossEntropyOp&, std::span<const Shape> inputs, const Shape&) {
  return {.saved = inputs[0].elements()};  // probabilities
}

void run_on_cpu(const SoftmaxCrossEntropyOp& op, const ForwardCall& call) {
  const Tensor probabilities{call.saved.data, call.inputs[0].shape};
  softmax_cross_entropy(call.inputs[0], call.feed.labels, call.output, probabilities,
                        static_cast<float>(op.label_smoothing));
}

void run_on_cpu(const SigmoidCrossEntropyOp& op, const ForwardCall& call) {
  sigmoid_cross_entropy(call.inputs[0], call.feed.labels, call.output,
                        static_cast<float>(op.label_smoothing));
}

void run_on_cpu(const SquaredErrorOp&, const ForwardCall& call) {
  squared_error(call.inputs[0], call.feed.targets, call.output);
}

void run_on_cpu(const HuberOp& op, const ForwardCall& call) {
  huber_error(static_cast<float>(op.delta), call.inputs[0], call.feed.targets, call.output);
}

void run_back_on_cpu(const SoftmaxCrossEntropyOp& op, const BackwardCall& call) {
  const GradientTarget& logits = call.input_gradients[0];
  const ConstTensor probabilities{call.saved.data, call.inputs[0].shape};
  softmax_cross_entropy_gradient(probabilities, call.feed.labels, call.output_gradient, logits.into,
                                 logits.write, static_cast<float>(op.label_smoothing));
}

void run_back_on_cpu(const SigmoidCrossEntropyOp& op, const BackwardCall& call) {
  const GradientTarget& logits = call.input_gradients[0];
  sigmoid_cross_entropy_gradient(call.inputs[0], call.feed.labels, call.output_gradient,
                                 logits.into, logits.write, static_cast<float>(op.label_smoothing));
}

void run_back_on_cpu(const SquaredErrorOp&, const BackwardCall& call) {
  const GradientTarget& predictions = call.input_gradients[0];
  squared_error_gradient(call.inputs[0], call.feed.targets, call.output_gradient, predictions.into,
                         predictions.write);
}

void run_back_on_cpu(const HuberOp& op, const BackwardCall& call) {
  const GradientTarget& predictions = call.input_gradients[0];
  huber_error_gradient(static_cast<float>(op.delta), call.inputs[0], call.feed.targets,
                       call.output_gradient, predictions.into, predictions.write);
}

}  // namespace trainyard::runtime
