#include "runtime/graph/cpu/sequence_loss.h"

#include "runtime/graph/cpu/room.h"
#include "runtime/math/ops/ctc.h"
#include "runtime/math/ops/token_loss.h"

namespace trainyard::runtime {
namespace {

std::span<const std::int32_t> lengths_of(bool has_lengths, const Feed& feed) {
  return has_lengths ? feed.lengths : std::span<const std::int32_t>{};
}

TokenLabels labels_of(const Feed& feed, double smoothing = 0) {
  return {.labels = feed.token_labels,
          .lengths = feed.lengths,
          .smoothing = static_cast<float>(smoothing)};
}

template <class Kind>
CtcBatch batch_of(const Kind& op, const ForwardCall& call) {
  return {.scores = call.inputs[0],
          .lengths = lengths_of(op.has_lengths, call.feed),
          .symbols = call.feed.symbols,
          .offsets = call.feed.symbol_offsets,
          .blank = op.blank};
}

Needs decode_needs(std::span<const Shape> inputs) {
  return {.scratch = elements_for(ctc_decode_scratch_bytes(inputs[0][1]))};
}

}  // namespace

// The probabilities are kept.
Needs cpu_needs(const TokenCrossEntropyOp&, std::span<const Shape> inputs, const Shape&) {
  return {.saved = inputs[0].elements(), .scratch = inputs[0][1]};
}
Needs cpu_needs(const MatchTokensOp&, std::span<const Shape> inputs, const Shape&) {
  return {.scratch = inputs[0][1]};
}
// The gradient is made beside the loss, from the same sums, and kept.
Needs cpu_needs(const CtcOp&, std::span<const Shape> inputs, const Shape&) {
  return {.saved = inputs[0].elements(),
          .scratch = elements_for(ctc_scratch_bytes(inputs[0][1], inputs[0][2]))};
}
Needs cpu_needs(const EditDistanceOp&, std::span<const Shape> inputs, const Shape&) {
  return decode_needs(inputs);
}
Needs cpu_needs(const MatchSequenceOp&, std::span<const Shape> inputs, const Shape&) {
  return decode_needs(inputs);
}

void run_on_cpu(const TokenCrossEntropyOp& op, const ForwardCall& call) {
  const Tensor probabilities{call.saved.data, call.inputs[0].shape};
  token_cross_entropy(call.inputs[0], labels_of(call.feed, op.label_smoothing), call.output,
                      probabilities, call.scratch);
}

void run_on_cpu(const MatchTokensOp&, const ForwardCall& call) {
  match_tokens(call.inputs[0], labels_of(call.feed), call.output, call.scratch);
}

void run_on_cpu(const CtcOp& op, const ForwardCall& call) {
  const CtcLoss kind{.divides_by_label = op.divides_by_label,
                     .skips_impossible = op.skips_impossible};
  const Tensor gradients =
      call.pass == Pass::train ? Tensor{call.saved.data, call.inputs[0].shape} : Tensor{};
  ctc(batch_of(op, call), kind, call.output, gradients, bytes_of(call.scratch));
}

void run_on_cpu(const EditDistanceOp& op, const ForwardCall& call) {
  edit_distances(batch_of(op, call), call.output, bytes_of(call.scratch));
}

void run_on_cpu(const MatchSequenceOp& op, const ForwardCall& call) {
  match_sequences(batch_of(op, call), call.output, bytes_of(call.scratch));
}

void run_back_on_cpu(const TokenCrossEntropyOp& op, const BackwardCall& call) {
  const Shape& shape = call.inputs[0].shape;
  const GradientTarget& logits = call.input_gradients[0];
  token_cross_entropy_gradient(labels_of(call.feed, op.label_smoothing),
                               {.probabilities = {call.saved.data, shape},
                                .losses_gradient = call.output_gradient,
                                .token_gradients = call.scratch,
                                .logits_gradient = logits.into,
                                .write = logits.write});
}

void run_back_on_cpu(const CtcOp&, const BackwardCall& call) {
  const GradientTarget& scores = call.input_gradients[0];
  ctc_gradient({call.saved.data, call.inputs[0].shape}, call.output_gradient, scores.into,
               scores.write);
}

}  // namespace trainyard::runtime
