// The CPU's table: each op is a call of runtime/math/ops.
#include <algorithm>
#include <type_traits>

#include "runtime/graph/kernels.h"
#include "runtime/math/ops/loss.h"
#include "runtime/math/ops/matmul.h"
#include "runtime/math/ops/reduction.h"
#include "runtime/math/ops/row_pool.h"
#include "runtime/math/ops/sparse_matmul.h"

namespace trainyard::runtime {
namespace {

// Their values lie outside the arena, nothing is to be done.
void run(const FeaturesOp&, const ForwardCall&) {}
void run(const SparseFeaturesOp&, const ForwardCall&) {}
void run(const VariableOp&, const ForwardCall&) {}

ConstTensor bias_of(const ForwardCall& call) {
  return call.inputs.size() == 3 ? call.inputs[2] : ConstTensor{};
}

void run(const MatMulOp&, const ForwardCall& call) {
  matmul(call.inputs[0], call.inputs[1], bias_of(call), call.output);
}

void run(const SparseMatMulOp&, const ForwardCall& call) {
  sparse_matmul(call.feed.sparse, call.inputs[1], bias_of(call), call.output);
}

void run(const ActivationOp& op, const ForwardCall& call) {
  activate(op.kind, call.inputs[0], call.output);
}

RowPool pool_of(const RowPoolOp& op, const Feed& feed) {
  return {.x = feed.rows.pooled.offsets.empty() ? feed.sparse : feed.rows.pooled,
          .places = feed.rows.places,
          .width = feed.rows.width,
          .first = op.first,
          .mean = op.pooling == Pooling::mean,
          .counted = feed.sparse.offsets};
}

void run(const RowPoolOp& op, const ForwardCall& call) {
  pool_rows(pool_of(op, call.feed), call.feed.rows.rows, call.output);
}

void run(const AddOp&, const ForwardCall& call) {
  add(call.inputs[0], call.inputs[1], call.output);
}

// Where it works in place there is nothing to do.
void run(const ReshapeOp&, const ForwardCall& call) {
  if (call.output.data == call.inputs[0].data) return;
  std::ranges::copy(call.inputs[0].span(), call.output.data);
}

void run(const SoftmaxCrossEntropyOp&, const ForwardCall& call) {
  const Tensor probabilities{call.saved.data, call.inputs[0].shape};
  softmax_cross_entropy(call.inputs[0], call.feed.labels, call.output, probabilities);
}

void run(const SigmoidCrossEntropyOp&, const ForwardCall& call) {
  sigmoid_cross_entropy(call.inputs[0], call.feed.labels, call.output);
}

void run(const SquaredErrorOp&, const ForwardCall& call) {
  squared_error(call.inputs[0], call.feed.targets, call.output);
}

void run(const MatchLabelsOp&, const ForwardCall& call) {
  match_labels(call.inputs[0], call.feed.labels, call.output);
}

void run(const MatchBinaryLabelsOp&, const ForwardCall& call) {
  match_binary_labels(call.inputs[0], call.feed.labels, call.output);
}

void run_back(const FeaturesOp&, const BackwardCall&) {}
void run_back(const SparseFeaturesOp&, const BackwardCall&) {}
void run_back(const VariableOp&, const BackwardCall&) {}

void add_bias_gradient(const BackwardCall& call) {
  if (call.inputs.size() != 3 || call.input_gradients[2].into.data == nullptr) return;
  const GradientTarget& bias = call.input_gradients[2];
  sum_rows(call.output_gradient, bias.into, bias.write);
}

void run_back(const MatMulOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  const GradientTarget& kernel = call.input_gradients[1];
  if (kernel.into.data != nullptr) {
    matmul_kernel_gradient(call.inputs[0], call.output_gradient, kernel.into, kernel.write);
  }
  add_bias_gradient(call);
  if (x.into.data != nullptr) {
    matmul_x_gradient(call.output_gradient, call.inputs[1], x.into, x.write);
  }
}

void run_back(const SparseMatMulOp&, const BackwardCall& call) {
  const GradientTarget& kernel = call.input_gradients[1];
  if (kernel.into.data != nullptr) {
    sparse_matmul_kernel_gradient(call.feed.sparse, call.output_gradient, kernel.into,
                                  kernel.write);
  }
  add_bias_gradient(call);
}

void run_back(const ActivationOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  activate_gradient(op.kind, call.output, call.output_gradient, x.into, x.write);
}

void run_back(const RowPoolOp& op, const BackwardCall& call) {
  pool_rows_gradient(pool_of(op, call.feed), call.output_gradient, call.feed.rows.gradients);
}

void run_back(const AddOp&, const BackwardCall& call) {
  for (const GradientTarget& target : call.input_gradients) {
    if (target.into.data != nullptr) pass_on(call.output_gradient, target.into, target.write);
  }
}

void run_back(const ReshapeOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  if (x.into.data == call.output_gradient.data) return;
  pass_on({call.output_gradient.data, x.into.shape}, x.into, x.write);
}

void run_back(const SoftmaxCrossEntropyOp&, const BackwardCall& call) {
  const GradientTarget& logits = call.input_gradients[0];
  const ConstTensor probabilities{call.saved.data, call.inputs[0].shape};
  softmax_cross_entropy_gradient(probabilities, call.feed.labels, call.output_gradient, logits.into,
                                 logits.write);
}

void run_back(const SigmoidCrossEntropyOp&, const BackwardCall& call) {
  const GradientTarget& logits = call.input_gradients[0];
  sigmoid_cross_entropy_gradient(call.inputs[0], call.feed.labels, call.output_gradient,
                                 logits.into, logits.write);
}

void run_back(const SquaredErrorOp&, const BackwardCall& call) {
  const GradientTarget& predictions = call.input_gradients[0];
  squared_error_gradient(call.inputs[0], call.feed.targets, call.output_gradient, predictions.into,
                         predictions.write);
}

void run_back(const MatchLabelsOp&, const BackwardCall&) {}
void run_back(const MatchBinaryLabelsOp&, const BackwardCall&) {}

template <class Kind>
Needs needs_of(const Kind&, std::span<const Shape> inputs, const Shape&) {
  if constexpr (std::is_same_v<Kind, SoftmaxCrossEntropyOp>) {
    return {.saved = inputs[0].elements()};  // probabilities
  }
  return {};
}

}  // namespace

constinit const Kernels cpu_kernels{
    .needs =
        [](const Op& op, std::span<const Shape> inputs, const Shape& output) {
          return std::visit([&](const auto& kind) { return needs_of(kind, inputs, output); }, op);
        },
    .forward =
        [](const Op& op, const ForwardCall& call) {
          std::visit([&](const auto& kind) { run(kind, call); }, op);
        },
    .backward =
        [](const Op& op, const BackwardCall& call) {
          std::visit([&](const auto& kind) { run_back(kind, call); }, op);
        }};

}  // namespace trainyard::runtime
