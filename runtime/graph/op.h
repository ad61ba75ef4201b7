// The kinds of node a graph is made of, each with its attributes. To add one: an alternative here,
// its traits and shape in op.cpp, its kernels for each device; std::visit without a default shows
// every place.
#pragma once

#include <cstddef>
#include <span>
#include <variant>

#include "runtime/math/ops/activation.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// The batch's features.
struct FeaturesOp {};

// The same where the batch has them as sparse rows: no tensor; only SparseMatMulOp reads it.
struct SparseFeaturesOp {};

// Parameters, as they are.
struct VariableOp {
  std::size_t index;
};

// Inputs: x, kernel [in, out], and perhaps bias [out].
struct MatMulOp {};

// The same of sparse features. Inputs: SparseFeaturesOp, kernel [in, out], and perhaps bias [out].
struct SparseMatMulOp {};

struct ActivationOp {
  Nonlinearity kind;
};

enum class Pooling { sum, mean };

// Columns [first, first + columns) of the embedding rows of an example's elements, each times its
// element's value, added up; mean: divided by the number of elements. Input: SparseFeaturesOp. The
// rows and the place of their gradients are in the feed.
struct RowPoolOp {
  std::int64_t first;
  std::int64_t columns;
  Pooling pooling;
};

// The sum of two tensors of one shape.
struct AddOp {};

// The same numbers under another shape.
struct ReshapeOp {
  Shape to;  // of one example
};

// Logits -> a loss per example.
struct SoftmaxCrossEntropyOp {};

// Logits [1], of the class 1 of two -> a loss per example.
struct SigmoidCrossEntropyOp {};

// Predictions -> a loss per example.
struct SquaredErrorOp {};

// Logits -> 1 per example that is classified rightly, else 0.
struct MatchLabelsOp {};

// The same for SigmoidCrossEntropyOp's logits.
struct MatchBinaryLabelsOp {};

using Op = std::variant<FeaturesOp, SparseFeaturesOp, VariableOp, MatMulOp, SparseMatMulOp,
                        ActivationOp, RowPoolOp, AddOp, ReshapeOp, SoftmaxCrossEntropyOp,
                        SigmoidCrossEntropyOp, SquaredErrorOp, MatchLabelsOp, MatchBinaryLabelsOp>;

// What the planner must know of an op to give its values their places.
struct OpTraits {
  bool has_gradient = true;  // towards its inputs
  bool backward_reads_inputs = false;
  bool backward_reads_output = false;
  // The output may lie where the first input lies, and the gradient of that input where the
  // output's lies.
  bool in_place = false;
};
OpTraits traits(const Op& op);

// Shapes are those of one example where an input depends on the batch. Wrong shapes are the
// caller's mistake: ENSURE.
Shape output_shape(const Op& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
