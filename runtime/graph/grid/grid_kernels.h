// The table of a device whose kernels are written for a grid (team.h).
#pragma once

#include <utility>
#include <variant>

#include "runtime/graph/grid/attention.h"
#include "runtime/graph/grid/dense.h"
#include "runtime/graph/grid/dropout.h"
#include "runtime/graph/grid/elementwise.h"
#include "runtime/graph/grid/image.h"
#include "runtime/graph/grid/in_batch.h"
#include "runtime/graph/grid/layout.h"
#include "runtime/graph/grid/loss.h"
#include "runtime/graph/grid/metric.h"
#include "runtime/graph/grid/norm.h"
#include "runtime/graph/grid/product.h"
#include "runtime/graph/grid/recurrent.h"
#include "runtime/graph/grid/reduce.h"
#include "runtime/graph/grid/row.h"
#include "runtime/graph/grid/sequence_loss.h"
#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

// Their values lie outside the arena, nothing is to be done.
template <class Grid>
struct SourceOps {
  static void forward(Grid&, const FeaturesOp&, const ForwardCall&) {}
  static void forward(Grid&, const SparseFeaturesOp&, const ForwardCall&) {}
  static void forward(Grid&, const IdsOp&, const ForwardCall&) {}
  static void forward(Grid&, const VariableOp&, const ForwardCall&) {}
};

template <class Grid>
struct GridOps : SourceOps<Grid>,
                 DenseOps<Grid>,
                 ElementwiseOps<Grid>,
                 LayoutOps<Grid>,
                 ReduceOps<Grid>,
                 RowOps<Grid>,
                 ProductOps<Grid>,
                 ImageOps<Grid>,
                 NormOps<Grid>,
                 AttentionOps<Grid>,
                 DropoutOps<Grid>,
                 RecurrentOps<Grid>,
                 LossOps<Grid>,
                 MetricOps<Grid>,
                 InBatchOps<Grid>,
                 SequenceLossOps<Grid> {
  using SourceOps<Grid>::forward;
  using DenseOps<Grid>::needs;
  using DenseOps<Grid>::forward;
  using DenseOps<Grid>::backward;
  using ElementwiseOps<Grid>::needs;
  using ElementwiseOps<Grid>::forward;
  using ElementwiseOps<Grid>::backward;
  using LayoutOps<Grid>::needs;
  using LayoutOps<Grid>::forward;
  using LayoutOps<Grid>::backward;
  using ReduceOps<Grid>::needs;
  using ReduceOps<Grid>::forward;
  using ReduceOps<Grid>::backward;
  using RowOps<Grid>::needs;
  using RowOps<Grid>::forward;
  using RowOps<Grid>::backward;
  using ProductOps<Grid>::needs;
  using ProductOps<Grid>::forward;
  using ProductOps<Grid>::backward;
  using ImageOps<Grid>::needs;
  using ImageOps<Grid>::forward;
  using ImageOps<Grid>::backward;
  using NormOps<Grid>::needs;
  using NormOps<Grid>::forward;
  using NormOps<Grid>::backward;
  using AttentionOps<Grid>::needs;
  using AttentionOps<Grid>::forward;
  using AttentionOps<Grid>::backward;
  using DropoutOps<Grid>::needs;
  using DropoutOps<Grid>::forward;
  using DropoutOps<Grid>::backward;
  using RecurrentOps<Grid>::needs;
  using RecurrentOps<Grid>::forward;
  using RecurrentOps<Grid>::backward;
  using LossOps<Grid>::needs;
  using LossOps<Grid>::forward;
  using LossOps<Grid>::backward;
  using MetricOps<Grid>::needs;
  using MetricOps<Grid>::forward;
  using MetricOps<Grid>::backward;
  using InBatchOps<Grid>::needs;
  using InBatchOps<Grid>::forward;
  using InBatchOps<Grid>::backward;
  using SequenceLossOps<Grid>::needs;
  using SequenceLossOps<Grid>::forward;
  using SequenceLossOps<Grid>::backward;
};

template <class Grid>
class GridKernels : public Kernels {
 public:
  explicit GridKernels(Grid grid) : grid_(std::move(grid)) {}

  [[nodiscard]] Needs needs(const Op& op, std::span<const Shape> inputs, const Shape& output,
                            std::int64_t) const override {
    return std::visit(
        [&](const auto& kind) -> Needs {
          if constexpr (requires { GridOps<Grid>::needs(kind, inputs, output, grid_); }) {
            return GridOps<Grid>::needs(kind, inputs, output, grid_);
          } else if constexpr (requires { GridOps<Grid>::needs(kind, inputs, output); }) {
            return GridOps<Grid>::needs(kind, inputs, output);
          } else {
            return {};
          }
        },
        op);
  }

  void forward(const Op& op, const ForwardCall& call) const override {
    std::visit([&](const auto& kind) { GridOps<Grid>::forward(grid_, kind, call); }, op);
  }

  void backward(const Op& op, const BackwardCall& call) const override {
    std::visit(
        [&](const auto& kind) {
          if constexpr (requires { GridOps<Grid>::backward(grid_, kind, call); }) {
            GridOps<Grid>::backward(grid_, kind, call);
          }
        },
        op);
  }

 private:
  mutable Grid grid_;
};

}  // namespace trainyard::runtime
