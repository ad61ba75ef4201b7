// The kernels of attention.h.
#pragma once

#include <algorithm>
#include <numbers>

#include "runtime/core/portable_functions.h"
#include "runtime/graph/grid/attention.h"
#include "runtime/graph/grid/attention_fused.h"
#include "runtime/graph/grid/attention_sdpa.h"
#include "runtime/graph/grid/elements.h"
#include "runtime/graph/grid/row_sums.h"

namespace trainyard::runtime {

// One logarithm for each query of a head. Fused: a sum for each, on the way back. Else: scores of
// as many pairs as go into 256 MiB.
template <class Grid>
Needs AttentionOps<Grid>::needs(const SdpaOp& op, std::span<const Shape> inputs, const Shape&,
                                const Grid& grid) {
  constexpr std::int64_t elements_wanted = std::int64_t{1} << 26;
  const SdpaOnGrid of(op, inputs[0], inputs[1]);
  if (fused_depth(grid.precision(), of.depth) > 0) {
    return {.saved = of.pairs * of.queries, .scratch = of.pairs * of.queries};
  }
  const std::int64_t each =
      std::max<std::int64_t>(1, std::max(of.forward_scratch(), of.backward_scratch()));
  const std::int64_t pairs =
      std::clamp<std::int64_t>(elements_wanted / each, 1, std::max<std::int64_t>(1, of.pairs));
  return {.saved = of.pairs * of.queries, .scratch = pairs * each};
}

template <class Grid>
Needs AttentionOps<Grid>::needs(const PositionsOp&, std::span<const Shape> inputs, const Shape&) {
  return {.scratch = row_sums_scratch(inputs[0][0], inputs[0][1] * inputs[0].columns())};
}

template <class Grid>
Needs AttentionOps<Grid>::needs(const RopeOp& op, std::span<const Shape> inputs, const Shape&) {
  return {.scratch = inputs[0][1] * inputs[0].columns() / op.rotation.heads};
}

template <class Grid>
void AttentionOps<Grid>::forward(Grid& grid, const SdpaOp& op, const ForwardCall& call) {
  SdpaOnGrid of(op, call.inputs[0].shape, call.inputs[1].shape);
  of.read_feed(op, call.feed, call.pass);
  if (fused_depth(grid.precision(), of.depth) > 0) return attend_fused_on(grid, of, call);
  attend_on(grid, of, call);
}

template <class Grid>
void AttentionOps<Grid>::backward(Grid& grid, const SdpaOp& op, const BackwardCall& call) {
  SdpaOnGrid of(op, call.inputs[0].shape, call.inputs[1].shape);
  of.read_feed(op, call.feed, Pass::train);
  if (fused_depth(grid.precision(), of.depth) > 0) return attend_gradient_fused_on(grid, of, call);
  attend_gradient_on(grid, of, call);
}

template <class Grid>
void AttentionOps<Grid>::forward(Grid& grid, const PositionsOp&, const ForwardCall& call) {
  const std::int64_t each = call.inputs[0].shape[1] * call.inputs[0].shape.columns();
  const float* const x = call.inputs[0].data;
  const float* const table = call.inputs[1].data;
  float* const y = call.output.data;
  grid.each(call.output.elements(),
            [=] TRAINYARD_KERNEL(std::int64_t i) { y[i] = x[i] + table[i % each]; });
}

// The table's rows beyond the time are read by nobody.
template <class Grid>
void AttentionOps<Grid>::backward(Grid& grid, const PositionsOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  const GradientTarget& table = call.input_gradients[1];
  const ConstTensor dy = call.output_gradient;
  if (table.into.data != nullptr) {
    const std::int64_t each = dy.shape[1] * dy.shape.columns();
    sum_rows_on(grid, {dy.data, {dy.shape[0], each}}, {table.into.data, {each}}, table.write,
                call.scratch);
    float* const rest = table.into.data + each;
    if (table.write == Write::overwrite) {
      grid.each(table.into.elements() - each,
                [=] TRAINYARD_KERNEL(std::int64_t i) { rest[i] = 0.0F; });
    }
  }
  if (x.into.data == nullptr || x.into.data == dy.data) return;
  map_two_on(grid, dy, dy, x.into, x.write,
             [=] TRAINYARD_KERNEL(float upstream, float) { return upstream; });
}

// y = x with each head's pairs of features turned, by angles or by their opposites. Scratch has a
// cosine and a sine for each place in time and pair: [time, pairs] each.
template <class Grid>
void rotate_on(Grid& grid, const Rotation& rotation, bool is_backward, ConstTensor x, Tensor y,
               Write write, float* scratch) {
  const std::int64_t time = x.shape[1];
  const std::int64_t half = x.shape.columns() / 2;
  const std::int64_t pairs = half / rotation.heads;
  const double log_theta = log_of_double(rotation.theta);
  float* const cosines = scratch;
  float* const sines = scratch + time * pairs;
  grid.each(time * pairs, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const double share = static_cast<double>(i % pairs) / static_cast<double>(pairs);
    const double turns = exp_of_double(-share * log_theta) / (2.0 * std::numbers::pi);
    const double angle = static_cast<double>(i / pairs) * turns;
    const auto sine = static_cast<float>(cos_of_double_turns(angle - 0.25));
    cosines[i] = static_cast<float>(cos_of_double_turns(angle));
    sines[i] = is_backward ? -sine : sine;
  });
  const float* const from = x.data;
  float* const to = y.data;
  grid.each(x.shape.rows() * half, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t turn = i / half % time * pairs + i % half % pairs;
    const float even = from[2 * i];
    const float odd = from[2 * i + 1];
    put(to[2 * i], even * cosines[turn] - odd * sines[turn], write);
    put(to[2 * i + 1], even * sines[turn] + odd * cosines[turn], write);
  });
}

template <class Grid>
void AttentionOps<Grid>::forward(Grid& grid, const RopeOp& op, const ForwardCall& call) {
  rotate_on(grid, op.rotation, false, call.inputs[0], call.output, Write::overwrite,
            call.scratch.data);
}

template <class Grid>
void AttentionOps<Grid>::backward(Grid& grid, const RopeOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  if (x.into.data == nullptr) return;
  rotate_on(grid, op.rotation, true, call.output_gradient, x.into, x.write, call.scratch.data);
}

}  // namespace trainyard::runtime
