#include "runtime/graph/op.h"

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
          [](const VariableOp&) { return OpTraits{.has_gradient = false}; },
          [](const MatMulOp&) { return OpTraits{.backward_reads_inputs = true}; },
          [](const ActivationOp&) {
            return OpTraits{.backward_reads_output = true, .in_place = true};
          },
          [](const SoftmaxCrossEntropyOp&) { return OpTraits{}; },
          [](const SquaredErrorOp&) { return OpTraits{.backward_reads_inputs = true}; },
          [](const MatchLabelsOp&) { return OpTraits{.has_gradient = false}; },
      },
      op);
}

Shape output_shape(const Op& op, std::span<const Shape> inputs) {
  return std::visit(Overloaded{
                        [](const FeaturesOp&) { return declared(); },
                        [](const VariableOp&) { return declared(); },
                        [&](const MatMulOp&) { return matmul_shape(inputs); },
                        [&](const ActivationOp&) { return only_input(inputs); },
                        [&](const SoftmaxCrossEntropyOp&) { return per_example(inputs); },
                        [&](const SquaredErrorOp&) { return per_example(inputs); },
                        [&](const MatchLabelsOp&) { return per_example(inputs); },
                    },
                    op);
}

std::int64_t workspace_elements(const Op& op, std::span<const Shape> inputs) {
  return std::holds_alternative<SoftmaxCrossEntropyOp>(op) ? inputs[0].elements() : 0;
}

}  // namespace trainyard::runtime
