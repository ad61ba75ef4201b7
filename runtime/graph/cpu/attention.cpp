#include "runtime/graph/cpu/attention.h"

#include <algorithm>

#include "runtime/math/ops/attention.h"
#include "runtime/math/ops/row_pool.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Attention attention_of(const SdpaOp& op, const Feed& feed, Pass pass) {
  return {.heads = op.heads,
          .is_causal = op.is_causal,
          .dropout = {.seed = feed.seed,
                      .layer = op.layer,
                      .rate = pass == Pass::train ? op.dropout : 0,
                      .first_position = feed.first_position},
          .line_queries = op.line_queries,
          .line_keys = op.line_keys};
}

AttentionInputs inputs_of(const SdpaOp& op, std::span<const ConstTensor> inputs, const Feed& feed) {
  ENSURE(inputs[0].shape[0] == feed.examples);  // positions and lengths are those of examples
  return {.q = inputs[0],
          .k = inputs[1],
          .v = inputs[2],
          .lengths = op.has_lengths ? feed.lengths : std::span<const std::int32_t>{}};
}

template <class T>
View<T> log_sums_in(const View<T>& saved, const SdpaOp& op, const Shape& q) {
  return {saved.data, {q[0], op.heads, q[1]}};
}

}  // namespace

// One logarithm for each query of a head.
Needs cpu_needs(const SdpaOp& op, std::span<const Shape> inputs, const Shape&,
                std::int64_t threads) {
  const std::int64_t keys = inputs[1][1];
  return {.saved = inputs[0][0] * op.heads * inputs[0][1],
          .scratch = threads * std::max(attend_scratch(keys), attend_gradient_scratch(keys))};
}

Needs cpu_needs(const RopeOp& op, std::span<const Shape> inputs, const Shape&) {
  return {.scratch = rotation_scratch(op.rotation, inputs[0][1], inputs[0].columns())};
}

void run_on_cpu(const SdpaOp& op, const ForwardCall& call) {
  attend(attention_of(op, call.feed, call.pass),
         {.in = inputs_of(op, call.inputs, call.feed),
          .y = call.output,
          .log_sums = log_sums_in(call.saved, op, call.inputs[0].shape),
          .scratch = call.scratch.span(),
          .threads = call.threads});
}

void run_on_cpu(const PositionsOp&, const ForwardCall& call) {
  add_places(call.inputs[0], call.inputs[1], call.output, call.threads);
}

void run_on_cpu(const RopeOp& op, const ForwardCall& call) {
  rotate(op.rotation, call.inputs[0], call.output, call.scratch.span(), call.threads);
}

void run_back_on_cpu(const SdpaOp& op, const BackwardCall& call) {
  const auto targets = call.input_gradients;
  attend_gradient(attention_of(op, call.feed, Pass::train),
                  {.in = inputs_of(op, call.inputs, call.feed),
                   .y = call.output,
                   .log_sums = log_sums_in(call.saved, op, call.inputs[0].shape),
                   .y_gradient = call.output_gradient,
                   .q_gradient = targets[0].into,
                   .q_write = targets[0].write,
                   .k_gradient = targets[1].into,
                   .k_write = targets[1].write,
                   .v_gradient = targets[2].into,
                   .v_write = targets[2].write,
                   .scratch = call.scratch.span(),
                   .threads = call.threads});
}

void run_back_on_cpu(const PositionsOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  const GradientTarget& table = call.input_gradients[1];
  if (table.into.data != nullptr) {
    add_places_gradient(call.output_gradient, table.into, table.write, call.threads);
  }
  if (x.into.data == nullptr || x.into.data == call.output_gradient.data) return;
  pass_on(call.output_gradient, x.into, x.write, call.threads);
}

void run_back_on_cpu(const RopeOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  rotate_gradient(op.rotation, call.output_gradient, x.into, x.write, call.scratch.span(),
                  call.threads);
}

}  // namespace trainyard::runtime
