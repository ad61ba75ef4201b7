#include "runtime/graph/cpu/loss.h"

#include "runtime/math/ops/loss.h"

namespace trainyard::runtime {

Needs cpu_needs(const SoftmaxCrossEntropyOp&, std::span<const Shape> inputs, const Shape&) {
  return {.saved = inputs[0].elements()};  // probabilities
}

void run_on_cpu(const SoftmaxCrossEntropyOp&, const ForwardCall& call) {
  const Tensor probabilities{call.saved.data, call.inputs[0].shape};
  softmax_cross_entropy(call.inputs[0], call.feed.labels, call.output, probabilities);
}

void run_on_cpu(const SigmoidCrossEntropyOp&, const ForwardCall& call) {
  sigmoid_cross_entropy(call.inputs[0], call.feed.labels, call.output);
}

void run_on_cpu(const SquaredErrorOp&, const ForwardCall& call) {
  squared_error(call.inputs[0], call.feed.targets, call.output);
}

void run_back_on_cpu(const SoftmaxCrossEntropyOp&, const BackwardCall& call) {
  const GradientTarget& logits = call.input_gradients[0];
  const ConstTensor probabilities{call.saved.data, call.inputs[0].shape};
  softmax_cross_entropy_gradient(probabilities, call.feed.labels, call.output_gradient, logits.into,
                                 logits.write);
}

void run_back_on_cpu(const SigmoidCrossEntropyOp&, const BackwardCall& call) {
  const GradientTarget& logits = call.input_gradients[0];
  sigmoid_cross_entropy_gradient(call.inputs[0], call.feed.labels, call.output_gradient,
                                 logits.into, logits.write);
}

void run_back_on_cpu(const SquaredErrorOp&, const BackwardCall& call) {
  const GradientTarget& predictions = call.input_gradients[0];
  squared_error_gradient(call.inputs[0], call.feed.targets, call.output_gradient, predictions.into,
                         predictions.write);
}

}  // namespace trainyard::runtime
