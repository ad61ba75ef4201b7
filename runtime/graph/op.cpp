#include "runtime/graph/op.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

Shape matmul_shape(std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 2 || inputs.size() == 3);
  const Shape& x = inputs[0];
  const Shape& kernel = inputs[1];
  ENSURE(kernel.rank() == 2 && x.rank() >= 1 && x.columns() == kernel[0]);
  if (inputs.size() == 3) ENSURE(inputs[2] == Shape({kernel[1]}));
  Shape shape(x.sizes().first(x.rank() - 1));
  shape.append(kernel[1]);
  return shape;
}

Shape only_input(std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1);
  return inputs[0];
}

Shape reshaped(const ReshapeOp& op, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && inputs[0].elements() == op.to.elements());
  return op.to;
}

Shape same_two(std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 2 && inputs[0] == inputs[1]);
  return inputs[0];
}

Shape one_logit(std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && inputs[0] == Shape({1}));
  return {};
}

Shape per_example(std::span<const Shape> inputs) {
  ENSURE(only_input(inputs).rank() == 1);
  return {};
}

// Their shapes are declared, not computed.
Shape declared() {
  ENSURE(false);
  return {};
}

}  // namespace

OpTraits traits(const Op& op) {
  return std::visit(
      Overloaded{
          [](const FeaturesOp&) { return OpTraits{.has_gradient = false}; },
          [](const SparseFeaturesOp&) { return OpTraits{.has_gradient = false}; },
          [](const VariableOp&) { return OpTraits{.has_gradient = false}; },
          [](const MatMulOp&) { return OpTraits{.backward_reads_inputs = true}; },
          [](const SparseMatMulOp&) { return OpTraits{}; },
          [](const ActivationOp&) {
            return OpTraits{.backward_reads_output = true, .in_place = true};
          },
          [](const RowPoolOp&) { return OpTraits{}; },
          [](const AddOp&) { return OpTraits{}; },
          [](const ReshapeOp&) { return OpTraits{.in_place = true}; },
          [](const SoftmaxCrossEntropyOp&) { return OpTraits{}; },
          [](const SigmoidCrossEntropyOp&) { return OpTraits{.backward_reads_inputs = true}; },
          [](const SquaredErrorOp&) { return OpTraits{.backward_reads_inputs = true}; },
          [](const MatchLabelsOp&) { return OpTraits{.has_gradient = false}; },
          [](const MatchBinaryLabelsOp&) { return OpTraits{.has_gradient = false}; },
      },
      op);
}

Shape output_shape(const Op& op, std::span<const Shape> inputs) {
  return std::visit(Overloaded{
                        [](const FeaturesOp&) { return declared(); },
                        [](const SparseFeaturesOp&) { return declared(); },
                        [](const VariableOp&) { return declared(); },
                        [&](const MatMulOp&) { return matmul_shape(inputs); },
                        [&](const SparseMatMulOp&) { return matmul_shape(inputs); },
                        [&](const ActivationOp&) { return only_input(inputs); },
                        [](const RowPoolOp& pool) { return Shape{pool.columns}; },
                        [&](const AddOp&) { return same_two(inputs); },
                        [&](const ReshapeOp& reshape) { return reshaped(reshape, inputs); },
                        [&](const SoftmaxCrossEntropyOp&) { return per_example(inputs); },
                        [&](const SigmoidCrossEntropyOp&) { return one_logit(inputs); },
                        [&](const SquaredErrorOp&) { return per_example(inputs); },
                        [&](const MatchLabelsOp&) { return per_example(inputs); },
                        [&](const MatchBinaryLabelsOp&) { return one_logit(inputs); },
                    },
                    op);
}

}  // namespace trainyard::runtime
