// The kernels of recurrent.h.
#pragma once

#include "runtime/graph/grid/by_key.h"
#include "runtime/graph/grid/recurrent.h"
#include "runtime/graph/grid/recurrent_walk.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

template <class Grid>
Needs RecurrentOps<Grid>::needs(const EmbeddingOp&, std::span<const Shape> inputs, const Shape&) {
  return {.scratch = by_key_scratch(inputs[0].elements())};
}

template <class Grid>
Needs RecurrentOps<Grid>::needs(const LstmOp& op, std::span<const Shape> inputs, const Shape&,
                                const Grid& grid) {
  return recurrent_needs(grid, recurrence_of(op), inputs);
}

template <class Grid>
Needs RecurrentOps<Grid>::needs(const GruOp& op, std::span<const Shape> inputs, const Shape&,
                                const Grid& grid) {
  return recurrent_needs(grid, recurrence_of(op), inputs);
}

template <class Grid>
Needs RecurrentOps<Grid>::needs(const RnnOp& op, std::span<const Shape> inputs, const Shape&,
                                const Grid& grid) {
  return recurrent_needs(grid, recurrence_of(op), inputs);
}

template <class Grid>
void RecurrentOps<Grid>::forward(Grid& grid, const EmbeddingOp& op, const ForwardCall& call) {
  const auto ids = ids_of(call.feed, op.field);
  const ConstTensor table = call.inputs[1];
  ENSURE(call.output.elements() == std::ssize(ids) * table.shape.columns());
  look_up_on(grid, ids.data(), table.data, table.shape.columns(), call.output);
}

template <class Grid>
void RecurrentOps<Grid>::backward(Grid& grid, const EmbeddingOp& op, const BackwardCall& call) {
  const GradientTarget& table = call.input_gradients[1];
  if (table.into.data == nullptr) return;
  const auto ids = ids_of(call.feed, op.field);
  const std::int64_t size = table.into.shape.columns();
  ENSURE(call.output_gradient.elements() == std::ssize(ids) * size);
  if (table.write == Write::overwrite) clear_rows_on(grid, table.into);
  add_by_place(grid,
               {.keys = ids.data(),
                .count = std::ssize(ids),
                .keys_end = table.into.shape.rows(),
                .from = call.output_gradient.data,
                .columns = size,
                .into = table.into.data,
                .width = size},
               call.scratch);
}

template <class Grid>
void RecurrentOps<Grid>::forward(Grid& grid, const LstmOp& op, const ForwardCall& call) {
  recurrence_on(grid, recurrence_of(op), op.along.has_lengths, call);
}

template <class Grid>
void RecurrentOps<Grid>::backward(Grid& grid, const LstmOp& op, const BackwardCall& call) {
  recurrence_gradient_on(grid, recurrence_of(op), op.along.has_lengths, call);
}

template <class Grid>
void RecurrentOps<Grid>::forward(Grid& grid, const GruOp& op, const ForwardCall& call) {
  recurrence_on(grid, recurrence_of(op), op.along.has_lengths, call);
}

template <class Grid>
void RecurrentOps<Grid>::backward(Grid& grid, const GruOp& op, const BackwardCall& call) {
  recurrence_gradient_on(grid, recurrence_of(op), op.along.has_lengths, call);
}

template <class Grid>
void RecurrentOps<Grid>::forward(Grid& grid, const RnnOp& op, const ForwardCall& call) {
  recurrence_on(grid, recurrence_of(op), op.along.has_lengths, call);
}

template <class Grid>
void RecurrentOps<Grid>::backward(Grid& grid, const RnnOp& op, const BackwardCall& call) {
  recurrence_gradient_on(grid, recurrence_of(op), op.along.has_lengths, call);
}

}  // namespace trainyard::runtime
