// The kernels of in_batch.h.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/graph/grid/elements.h"
#include "runtime/graph/grid/gemm.h"
#include "runtime/graph/grid/in_batch.h"
#include "runtime/graph/grid/softmax_rows.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

// The scores of all pairs, and behind them room for products.
inline std::int64_t in_batch_scratch(const Shape& users, bool has_gradient) {
  const std::int64_t examples = users[0];
  const std::int64_t features = users[1];
  std::int64_t room = gemm_scratch(examples, examples, cuts_of(features).count());
  if (has_gradient) {
    room = std::max(room, gemm_scratch(examples, features, cuts_of(examples).count()));
  }
  return examples * examples + room;
}
inline Tensor behind_scores(Tensor scratch, std::int64_t examples) {
  const std::int64_t pairs = examples * examples;
  ENSURE(scratch.elements() >= pairs);
  return {scratch.data + pairs, {scratch.elements() - pairs}};
}

template <class Grid>
Needs InBatchOps<Grid>::needs(const InBatchSoftmaxOp&, std::span<const Shape> inputs,
                              const Shape&) {
  const std::int64_t examples = inputs[0][0];
  return {.saved = examples * examples,  // probabilities
          .scratch = in_batch_scratch(inputs[0], true)};
}

template <class Grid>
Needs InBatchOps<Grid>::needs(const RecallInBatchOp&, std::span<const Shape> inputs, const Shape&) {
  return {.scratch = in_batch_scratch(inputs[0], false)};
}

// The products of all users with all items.
template <class Grid>
void pair_products_on(Grid& grid, const ForwardCall& call) {
  const std::int64_t examples = call.inputs[0].shape[0];
  const std::int64_t features = call.inputs[0].shape[1];
  const GridProduct<Strided, Strided> product{
      .rows = examples,
      .columns = examples,
      .cuts = cuts_of(features),
      .left = {.data = call.inputs[0].data, .outer = features, .along = 1},
      .right = {.data = call.inputs[1].data, .outer = features, .along = 1},
      .out = call.scratch.data,
      .out_stride = examples};
  multiply_exactly(grid, product, behind_scores(call.scratch, examples));
}

template <class Grid>
void InBatchOps<Grid>::forward(Grid& grid, const InBatchSoftmaxOp& op, const ForwardCall& call) {
  const std::int64_t examples = call.inputs[0].shape[0];
  pair_products_on(grid, call);
  const float factor = 1.0F / static_cast<float>(op.temperature);
  const float* const subtracted = call.inputs.size() > 2 ? call.inputs[2].data : nullptr;
  float* const scores = call.scratch.data;
  grid.each(examples * examples, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const float scaled = scores[i] * factor;
    scores[i] = subtracted == nullptr ? scaled : scaled - subtracted[i % examples];
  });
  softmax_cross_entropy_on(grid, PairedRows{}, {scores, examples, examples}, 0.0F, call.output.data,
                           call.pass == Pass::train ? call.saved.data : nullptr);
}

// to [examples] is so much less as the columns' sums, one row after another.
template <class Grid>
void subtract_rows_on(Grid& grid, const float* values, std::int64_t examples,
                      const GradientTarget& target) {
  float* const to = target.into.data;
  const Write write = target.write;
  grid.each(examples, [=] TRAINYARD_KERNEL(std::int64_t column) {
    float sum = write == Write::add ? to[column] : 0.0F;
    for (std::int64_t row = 0; row < examples; ++row) sum -= values[row * examples + column];
    to[column] = sum;
  });
}

template <class Grid>
void InBatchOps<Grid>::backward(Grid& grid, const InBatchSoftmaxOp& op, const BackwardCall& call) {
  const std::int64_t examples = call.inputs[0].shape[0];
  const std::int64_t features = call.inputs[0].shape[1];
  float* const scores = call.scratch.data;
  const Tensor room = behind_scores(call.scratch, examples);
  softmax_cross_entropy_gradient_on(grid, PairedRows{}, {call.saved.data, examples, examples}, 0.0F,
                                    call.output_gradient.data, scores, Write::overwrite);
  if (call.input_gradients.size() > 2 && call.input_gradients[2].into.data != nullptr) {
    subtract_rows_on(grid, scores, examples, call.input_gradients[2]);
  }
  const float factor = 1.0F / static_cast<float>(op.temperature);
  grid.each(examples * examples, [=] TRAINYARD_KERNEL(std::int64_t i) { scores[i] *= factor; });
  GridProduct<Strided, Strided> product{.rows = examples,
                                        .columns = features,
                                        .cuts = cuts_of(examples),
                                        .left = {},
                                        .right = {},
                                        .out_stride = features};
  if (const GradientTarget& users = call.input_gradients[0]; users.into.data != nullptr) {
    product.left = {.data = scores, .outer = examples, .along = 1};
    product.right = {.data = call.inputs[1].data, .outer = 1, .along = features};
    product.out = users.into.data;
    product.write = users.write;
    multiply_exactly(grid, product, room);
  }
  if (const GradientTarget& items = call.input_gradients[1]; items.into.data != nullptr) {
    product.left = {.data = scores, .outer = 1, .along = examples};
    product.right = {.data = call.inputs[0].data, .outer = 1, .along = features};
    product.out = items.into.data;
    product.write = items.write;
    multiply_exactly(grid, product, room);
  }
}

template <class Grid>
void InBatchOps<Grid>::forward(Grid& grid, const RecallInBatchOp& op, const ForwardCall& call) {
  const std::int64_t examples = call.inputs[0].shape[0];
  pair_products_on(grid, call);
  match_top_rows_on(grid, PairedRows{}, {call.scratch.data, examples, examples}, op.k,
                    call.output.data);
}

}  // namespace trainyard::runtime
