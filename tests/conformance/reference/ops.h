// The definitions, one for each kind of op: the output's numbers from those of the inputs.
#pragma once

#include <vector>

#include "tests/conformance/case.h"
#include "tests/conformance/reference/tape.h"

namespace trainyard::runtime::reference {

using Numbers = std::vector<Number>;

struct Array {
  Shape shape;  // as of Input
  Numbers values;

  [[nodiscard]] const Number& operator[](std::int64_t at) const {
    return values[static_cast<std::size_t>(at)];
  }
};

struct Call {
  const std::vector<Array>& inputs;
  const Shape& output;
  const FeedData& feed;
  const Numbers& rows;  // of the feed's table
  Pass pass;

  [[nodiscard]] const Array& x() const { return inputs[0]; }
  // How many steps of an example count.
  [[nodiscard]] std::int64_t length(std::int64_t example, std::int64_t time) const {
    return feed.lengths.empty() ? time : feed.lengths[static_cast<std::size_t>(example)];
  }
};

// dense
Numbers defined(const MatMulOp& op, const Call& call);
Numbers defined(const SparseMatMulOp& op, const Call& call);
Numbers defined(const RowPoolOp& op, const Call& call);
Numbers defined(const RowLookupOp& op, const Call& call);
// elementwise
Numbers defined(const ActivationOp& op, const Call& call);
Numbers defined(const PreluOp& op, const Call& call);
Numbers defined(const AffineOp& op, const Call& call);
Numbers defined(const ClipOp& op, const Call& call);
Numbers defined(const AddOp& op, const Call& call);
Numbers defined(const BinaryOp& op, const Call& call);
// layout, reduce
Numbers defined(const ReshapeOp& op, const Call& call);
Numbers defined(const TransposeOp& op, const Call& call);
Numbers defined(const ConcatOp& op, const Call& call);
Numbers defined(const SliceOp& op, const Call& call);
Numbers defined(const PadOp& op, const Call& call);
Numbers defined(const ReduceOp& op, const Call& call);
// row, product
Numbers defined(const SoftmaxOp& op, const Call& call);
Numbers defined(const LogSoftmaxOp& op, const Call& call);
Numbers defined(const L2NormalizeOp& op, const Call& call);
Numbers defined(const MatrixProductOp& op, const Call& call);
Numbers defined(const FactorizeOp& op, const Call& call);
Numbers defined(const PairwiseDotOp& op, const Call& call);
// image
Numbers defined(const Conv2dOp& op, const Call& call);
Numbers defined(const DepthwiseConv2dOp& op, const Call& call);
Numbers defined(const MaxPool2dOp& op, const Call& call);
Numbers defined(const AvgPool2dOp& op, const Call& call);
Numbers defined(const GlobalAvgPoolOp& op, const Call& call);
// norm
Numbers defined(const BatchNormOp& op, const Call& call);
Numbers defined(const LayerNormOp& op, const Call& call);
Numbers defined(const RmsNormOp& op, const Call& call);
Numbers defined(const GroupNormOp& op, const Call& call);
// attention, dropout
Numbers defined(const SdpaOp& op, const Call& call);
Numbers defined(const PositionsOp& op, const Call& call);
Numbers defined(const RopeOp& op, const Call& call);
Numbers defined(const DropoutOp& op, const Call& call);
// recurrent
Numbers defined(const EmbeddingOp& op, const Call& call);
Numbers defined(const LstmOp& op, const Call& call);
Numbers defined(const GruOp& op, const Call& call);
Numbers defined(const RnnOp& op, const Call& call);
// loss, metric
Numbers defined(const SoftmaxCrossEntropyOp& op, const Call& call);
Numbers defined(const SigmoidCrossEntropyOp& op, const Call& call);
Numbers defined(const SquaredErrorOp& op, const Call& call);
Numbers defined(const HuberOp& op, const Call& call);
Numbers defined(const MatchLabelsOp& op, const Call& call);
Numbers defined(const MatchBinaryLabelsOp& op, const Call& call);
Numbers defined(const TopKOp& op, const Call& call);
Numbers defined(const AbsoluteErrorOp& op, const Call& call);
// in batch
Numbers defined(const InBatchSoftmaxOp& op, const Call& call);
Numbers defined(const RecallInBatchOp& op, const Call& call);
// sequence loss
Numbers defined(const TokenCrossEntropyOp& op, const Call& call);
Numbers defined(const MatchTokensOp& op, const Call& call);
Numbers defined(const CtcOp& op, const Call& call);
Numbers defined(const EditDistanceOp& op, const Call& call);
Numbers defined(const MatchSequenceOp& op, const Call& call);

// What a batch adds to the sums that running averages are made of: it stands where the gradients of
// mean and variance would, and depends on x alone.
struct StateSums {
  std::vector<double> mean;
  std::vector<double> variance;
};
StateSums state_sums(const Call& call);

// Of one row of logits, minus the logarithm of what softmax gives to each class.
Numbers log_losses(const Number* logits, std::int64_t classes);
// Softmax cross entropy at a label of which the classes share `smoothing`.
Number cross_entropy(const Number* logits, std::int64_t classes, std::int64_t label,
                     double smoothing);
// 1 where the first of the largest is at `label`, else 0; NaN loses unless it comes first.
double matches(const Number* logits, std::int64_t classes, std::int64_t label);

}  // namespace trainyard::runtime::reference
