// The kernels of metric.h.
#pragma once

#include <cmath>

#include "runtime/graph/grid/metric.h"
#include "runtime/graph/grid/softmax_rows.h"

namespace trainyard::runtime {

template <class Grid>
Needs MetricOps<Grid>::needs(const MatchLabelsOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs MetricOps<Grid>::needs(const MatchBinaryLabelsOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs MetricOps<Grid>::needs(const TopKOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs MetricOps<Grid>::needs(const AbsoluteErrorOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
void MetricOps<Grid>::forward(Grid& grid, const MatchLabelsOp&, const ForwardCall& call) {
  const ConstTensor& logits = call.inputs[0];
  match_rows_on(grid, LabelledRows{call.feed.labels.data()},
                {logits.data, logits.shape.rows(), logits.shape.columns()}, call.output.data);
}

template <class Grid>
void MetricOps<Grid>::forward(Grid& grid, const MatchBinaryLabelsOp&, const ForwardCall& call) {
  const float* const logits = call.inputs[0].data;
  const std::int32_t* const labels = call.feed.labels.data();
  float* const matches = call.output.data;
  grid.each(call.output.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const bool is_right = labels[i] == 1 ? logits[i] > 0.0F : logits[i] <= 0.0F;
    matches[i] = is_right ? 1.0F : 0.0F;
  });
}

template <class Grid>
void MetricOps<Grid>::forward(Grid& grid, const TopKOp& op, const ForwardCall& call) {
  const ConstTensor& logits = call.inputs[0];
  match_top_rows_on(grid, LabelledRows{call.feed.labels.data()},
                    {logits.data, logits.shape.rows(), logits.shape.columns()}, op.k,
                    call.output.data);
}

template <class Grid>
void MetricOps<Grid>::forward(Grid& grid, const AbsoluteErrorOp&, const ForwardCall& call) {
  const float* const predictions = call.inputs[0].data;
  const float* const targets = call.feed.targets.data();
  float* const errors = call.output.data;
  grid.each(call.output.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    errors[i] = std::fabs(predictions[i] - targets[i]);
  });
}

}  // namespace trainyard::runtime
