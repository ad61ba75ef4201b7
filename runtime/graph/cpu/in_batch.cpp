#include "runtime/graph/cpu/in_batch.h"

#include "runtime/graph/cpu/room.h"
#include "runtime/math/ops/in_batch_softmax.h"

namespace trainyard::runtime {
namespace {

Towers towers_of(std::span<const ConstTensor> inputs) {
  Towers towers{.users = inputs[0], .items = inputs[1]};
  if (inputs.size() > 2) towers.log_frequency = inputs[2];
  return towers;
}

Shape pairs_of(const ConstTensor& users) { return {users.shape.rows(), users.shape.rows()}; }

}  // namespace

Needs cpu_needs(const InBatchSoftmaxOp&, std::span<const Shape> inputs, const Shape&) {
  const std::int64_t examples = inputs[0].rows();
  return {.saved = examples * examples,  // probabilities
          .scratch = elements_for(in_batch_scratch_bytes(examples))};
}

Needs cpu_needs(const RecallInBatchOp&, std::span<const Shape> inputs, const Shape&) {
  return {.scratch = elements_for(in_batch_scratch_bytes(inputs[0].rows()))};
}

void run_on_cpu(const InBatchSoftmaxOp& op, const ForwardCall& call) {
  in_batch_softmax(towers_of(call.inputs), static_cast<float>(op.temperature), call.output,
                   {call.saved.data, pairs_of(call.inputs[0])}, bytes_of(call.scratch));
}

void run_on_cpu(const RecallInBatchOp& op, const ForwardCall& call) {
  match_in_batch(op.k, towers_of(call.inputs), call.output, bytes_of(call.scratch));
}

void run_back_on_cpu(const InBatchSoftmaxOp& op, const BackwardCall& call) {
  const auto gradient_of = [&call](std::size_t input) -> TowerGradient {
    if (input >= call.input_gradients.size()) return {};
    return {call.input_gradients[input].into, call.input_gradients[input].write};
  };
  in_batch_softmax_gradient(towers_of(call.inputs), static_cast<float>(op.temperature),
                            {call.saved.data, pairs_of(call.inputs[0])}, call.output_gradient,
                            {gradient_of(0), gradient_of(1), gradient_of(2)},
                            bytes_of(call.scratch));
}

}  // namespace trainyard::runtime
