// The kinds of node a graph is made of, each with its attributes. To add one: its attributes,
// traits and shape in its family (runtime/graph/ops), an alternative here, its kernels for each
// device (runtime/graph/cpu); std::visit without a default shows every place.
#pragma once

#include <span>
#include <variant>

#include "runtime/graph/ops/attention.h"
#include "runtime/graph/ops/dense.h"
#include "runtime/graph/ops/dropout.h"
#include "runtime/graph/ops/elementwise.h"
#include "runtime/graph/ops/image.h"
#include "runtime/graph/ops/in_batch.h"
#include "runtime/graph/ops/layout.h"
#include "runtime/graph/ops/loss.h"
#include "runtime/graph/ops/metric.h"
#include "runtime/graph/ops/norm.h"
#include "runtime/graph/ops/op_traits.h"
#include "runtime/graph/ops/product.h"
#include "runtime/graph/ops/recurrent.h"
#include "runtime/graph/ops/reduce.h"
#include "runtime/graph/ops/row.h"
#include "runtime/graph/ops/sequence_loss.h"
#include "runtime/graph/ops/source.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

using Op = std::variant<
    // source
    FeaturesOp, SparseFeaturesOp, IdsOp, VariableOp,
    // dense
    MatMulOp, SparseMatMulOp, RowPoolOp, RowLookupOp,
    // elementwise
    ActivationOp, PreluOp, AffineOp, ClipOp, AddOp, BinaryOp,
    // layout
    ReshapeOp, TransposeOp, ConcatOp, SliceOp, PadOp,
    // reduce
    ReduceOp,
    // row
    SoftmaxOp, LogSoftmaxOp, L2NormalizeOp,
    // product
    MatrixProductOp, FactorizeOp, PairwiseDotOp,
    // image
    Conv2dOp, DepthwiseConv2dOp, MaxPool2dOp, AvgPool2dOp, GlobalAvgPoolOp,
    // norm
    BatchNormOp, LayerNormOp, RmsNormOp, GroupNormOp,
    // attention
    SdpaOp, PositionsOp, RopeOp,
    // dropout
    DropoutOp,
    // recurrent
    EmbeddingOp, LstmOp, GruOp, RnnOp,
    // loss
    SoftmaxCrossEntropyOp, SigmoidCrossEntropyOp, SquaredErrorOp, HuberOp,
    // metric
    MatchLabelsOp, MatchBinaryLabelsOp, TopKOp, AbsoluteErrorOp,
    // in batch: a loss and a metric
    InBatchSoftmaxOp, RecallInBatchOp,
    // sequence loss, and its metrics
    TokenCrossEntropyOp, MatchTokensOp, CtcOp, EditDistanceOp, MatchSequenceOp>;

OpTraits traits(const Op& op);

// Shapes are those of one example where an input depends on the batch. Wrong shapes are the
// caller's mistake: ENSURE.
Shape output_shape(const Op& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
