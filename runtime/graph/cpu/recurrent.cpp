#include "runtime/graph/cpu/recurrent.h"

#include "runtime/graph/cpu/room.h"
#include "runtime/math/ops/embedding.h"
#include "runtime/math/ops/recurrence.h"

namespace trainyard::runtime {
namespace {

Needs recurrent_needs(const Recurrence& kind, std::span<const Shape> inputs, std::int64_t threads) {
  const RecurrentSizes sizes{
      .examples = inputs[0][0], .time = inputs[0][1], .in = inputs[0][2], .units = inputs[2][0]};
  return {.saved = elements_for(recurrence_saved_bytes(kind.cell, sizes)),
          .scratch = elements_for(recurrence_scratch_bytes(kind.cell, sizes, threads))};
}

RecurrentParameters parameters_of(std::span<const ConstTensor> inputs) {
  return {.kernel = inputs[1],
          .recurrent_kernel = inputs[2],
          .bias = inputs[3],
          .recurrent_bias = inputs.size() == 5 ? inputs[4] : ConstTensor{}};
}

std::span<const std::int32_t> lengths_of(const Along& along, const Feed& feed) {
  return along.has_lengths ? feed.lengths : std::span<const std::int32_t>{};
}

RecurrentGradient wanted(const BackwardCall& call, std::size_t input) {
  if (input >= call.input_gradients.size()) return {};
  return {call.input_gradients[input].into, call.input_gradients[input].write};
}

template <class Kind>
void run_recurrence(const Kind& op, const ForwardCall& call) {
  recurrence({.kind = recurrence_of(op),
              .x = call.inputs[0],
              .parameters = parameters_of(call.inputs),
              .lengths = lengths_of(op.along, call.feed),
              .saved = bytes_of(call.saved),
              .scratch = bytes_of(call.scratch),
              .output = call.output,
              .threads = call.threads});
}

template <class Kind>
void run_recurrence_back(const Kind& op, const BackwardCall& call) {
  recurrence_gradient({.kind = recurrence_of(op),
                       .x = call.inputs[0],
                       .parameters = parameters_of(call.inputs),
                       .lengths = lengths_of(op.along, call.feed),
                       .saved = std::as_bytes(call.saved.span()),
                       .scratch = bytes_of(call.scratch),
                       .output_gradient = call.output_gradient,
                       .x_gradient = wanted(call, 0),
                       .kernel_gradient = wanted(call, 1),
                       .recurrent_kernel_gradient = wanted(call, 2),
                       .bias_gradient = wanted(call, 3),
                       .recurrent_bias_gradient = wanted(call, 4),
                       .threads = call.threads});
}

}  // namespace

Needs cpu_needs(const EmbeddingOp&, std::span<const Shape> inputs, const Shape&) {
  return {.scratch = elements_for(embed_gradient_bytes(inputs[0].elements()))};
}
Needs cpu_needs(const LstmOp& op, std::span<const Shape> inputs, const Shape&,
                std::int64_t threads) {
  return recurrent_needs(recurrence_of(op), inputs, threads);
}
Needs cpu_needs(const GruOp& op, std::span<const Shape> inputs, const Shape&,
                std::int64_t threads) {
  return recurrent_needs(recurrence_of(op), inputs, threads);
}
Needs cpu_needs(const RnnOp& op, std::span<const Shape> inputs, const Shape&,
                std::int64_t threads) {
  return recurrent_needs(recurrence_of(op), inputs, threads);
}

void run_on_cpu(const EmbeddingOp& op, const ForwardCall& call) {
  embed(call.inputs[1], ids_of(call.feed, op.field), call.output, call.threads);
}
void run_on_cpu(const LstmOp& op, const ForwardCall& call) { run_recurrence(op, call); }
void run_on_cpu(const GruOp& op, const ForwardCall& call) { run_recurrence(op, call); }
void run_on_cpu(const RnnOp& op, const ForwardCall& call) { run_recurrence(op, call); }

void run_back_on_cpu(const EmbeddingOp& op, const BackwardCall& call) {
  const GradientTarget& table = call.input_gradients[1];
  if (table.into.data == nullptr) return;
  embed_gradient(ids_of(call.feed, op.field), call.output_gradient, table.into, table.write,
                 bytes_of(call.scratch), call.threads);
}
void run_back_on_cpu(const LstmOp& op, const BackwardCall& call) { run_recurrence_back(op, call); }
void run_back_on_cpu(const GruOp& op, const BackwardCall& call) { run_recurrence_back(op, call); }
void run_back_on_cpu(const RnnOp& op, const BackwardCall& call) { run_recurrence_back(op, call); }

}  // namespace trainyard::runtime
