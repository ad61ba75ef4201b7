// A recurrence on a grid: the input's part of all steps is one product; then each step is a product
// with the state before and a kernel over the units. Back likewise, from the last step to the
// first; the gradients of the kernels and of the input are one product each, at the end.
#pragma once

#include <algorithm>
#include <span>

#include "runtime/graph/grid/by_key.h"
#include "runtime/graph/grid/elements.h"
#include "runtime/graph/grid/gemm.h"
#include "runtime/graph/grid/recurrent_cells.h"
#include "runtime/graph/grid/row_sums.h"
#include "runtime/graph/kernels.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

// Room that is cut into arrays; without memory it counts.
template <class Float>
struct FloatRoom {
  Float* data = nullptr;
  std::int64_t used = 0;

  Float* take(std::int64_t count) {
    const std::int64_t at = used;
    used += count;
    return data == nullptr ? nullptr : data + at;
  }
};

struct RecurrentCall {
  RecurrentCell cell;
  Recurrence::Output output;
  GridWalk walk;
  std::int64_t in;

  [[nodiscard]] bool is_gru() const { return cell == RecurrentCell::gru; }
  [[nodiscard]] bool is_plain() const {
    return cell == RecurrentCell::rnn_tanh || cell == RecurrentCell::rnn_relu;
  }
};

// The shape of inputs[i] is at(i).
template <class ShapeAt>
RecurrentCall recurrent_call(const Recurrence& kind, const ShapeAt& at) {
  const Shape& x = at(0);
  const std::int64_t units = at(2)[0];
  return {.cell = kind.cell,
          .output = kind.output,
          .walk = {.examples = x[0],
                   .time = x[1],
                   .units = units,
                   .gates = gates_of(kind.cell) * units,
                   .is_forward = kind.order == TimeOrder::forward},
          .in = x[2]};
}

inline RecurrentCall recurrent_call(const Recurrence& kind, std::span<const ConstTensor> inputs,
                                    bool has_lengths, const Feed& feed) {
  RecurrentCall call =
      recurrent_call(kind, [&](std::size_t i) -> const Shape& { return inputs[i].shape; });
  if (has_lengths && !feed.lengths.empty()) call.walk.lengths = feed.lengths.data();
  return call;
}

template <class Float>
GridKept<Float> cut_grid_kept(FloatRoom<Float>& room, const RecurrentCall& call) {
  const std::int64_t states = call.walk.steps() * call.walk.units;
  GridKept<Float> kept{.h = room.take(states)};
  if (!call.is_plain()) kept.gates = room.take(call.walk.steps() * call.walk.gates);
  if (call.cell == RecurrentCell::lstm) {
    kept.c = room.take(states);
    kept.c_tanh = room.take(states);
  }
  if (call.is_gru()) kept.candidate = room.take(states);
  return kept;
}

struct GridForwardRoom {
  float* product = nullptr;  // [examples, gates]
  float* gates = nullptr;    // [examples, time, gates] of a plain cell
};

inline GridForwardRoom cut_grid_forward(FloatRoom<float>& room, const RecurrentCall& call) {
  GridForwardRoom cut;
  cut.product = room.take(call.walk.examples * call.walk.gates);
  if (call.is_plain()) cut.gates = room.take(call.walk.steps() * call.walk.gates);
  return cut;
}

struct GridBackwardRoom {
  float* gates = nullptr;     // [examples, time, gates], gradients, as the next
  float* products = nullptr;  // the same memory but for a gru
  float* h_before = nullptr;  // [examples, time, units]
  float* product = nullptr;   // [examples, units], as the next
  float* carry = nullptr;
};

inline GridBackwardRoom cut_grid_backward(FloatRoom<float>& room, const RecurrentCall& call) {
  const GridWalk& walk = call.walk;
  GridBackwardRoom cut;
  cut.gates = room.take(walk.steps() * walk.gates);
  cut.products = call.is_gru() ? room.take(walk.steps() * walk.gates) : cut.gates;
  cut.h_before = room.take(walk.steps() * walk.units);
  cut.product = room.take(walk.states());
  cut.carry = room.take(walk.states());
  return cut;
}

// What is left of the scratch is the products'.
inline Tensor rest_of(const Tensor& scratch, const FloatRoom<float>& room) {
  const std::int64_t left = scratch.elements() - room.used;
  if (left <= 0) return {};
  return {scratch.data + room.used, {left}};
}

// Of products a library takes those of all steps at once, whose sides are not read again and again.
template <class Grid>
Needs recurrent_needs(const Grid& grid, const Recurrence& kind, std::span<const Shape> inputs) {
  const RecurrentCall call =
      recurrent_call(kind, [&](std::size_t i) -> const Shape& { return inputs[i]; });
  const GridWalk& walk = call.walk;
  FloatRoom<float> saved;
  cut_grid_kept(saved, call);
  FloatRoom<float> forward;
  cut_grid_forward(forward, call);
  FloatRoom<float> backward;
  cut_grid_backward(backward, call);
  const std::int64_t steps = walk.steps();
  const auto product = [](std::int64_t rows, std::int64_t columns, std::int64_t depth) {
    return gemm_scratch(rows, columns, cuts_of(depth).count());
  };
  const MatrixLines x{steps, call.in};
  const MatrixLines h{steps, walk.units};
  const MatrixLines gates{steps, walk.gates};
  const std::int64_t by_library =
      std::max(library_scratch(grid, {steps, walk.gates, call.in}, x, {call.in, walk.gates}),
               library_scratch(grid, {walk.units, walk.gates, steps}, h, gates));
  const std::int64_t there = std::max({product(steps, walk.gates, call.in),
                                       product(walk.examples, walk.gates, walk.units), by_library});
  const std::int64_t back =
      std::max({product(walk.examples, walk.units, walk.gates), product(call.in, walk.gates, steps),
                product(walk.units, walk.gates, steps), product(steps, call.in, walk.gates),
                row_sums_scratch(steps, walk.gates), by_library});
  return {.saved = saved.used, .scratch = std::max(forward.used + there, backward.used + back)};
}

template <class Grid>
void write_states(Grid& grid, const RecurrentCall& of, const float* h, Tensor output) {
  const GridWalk walk = of.walk;
  float* const to = output.data;
  if (of.output == Recurrence::Output::all) {
    ENSURE(output.elements() == walk.steps() * walk.units);
    return grid.each(output.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) { to[i] = h[i]; });
  }
  ENSURE(output.elements() == walk.states());
  grid.each(walk.states(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t example = i / walk.units;
    const std::int64_t place = example * walk.time + walk.last(example);
    to[i] = walk.length(example) > 0 ? h[place * walk.units + i % walk.units] : 0.0F;
  });
}

template <class Grid>
void recurrence_on(Grid& grid, const Recurrence& kind, bool has_lengths, const ForwardCall& call) {
  const RecurrentCall of = recurrent_call(kind, call.inputs, has_lengths, call.feed);
  const GridWalk& walk = of.walk;
  FloatRoom<float> saved{.data = call.saved.data};
  FloatRoom<float> room{.data = call.scratch.data};
  StepForward step{.walk = walk,
                   .kept = cut_grid_kept(saved, of),
                   .recurrent_bias = call.inputs.size() == 5 ? call.inputs[4].data : nullptr};
  const GridForwardRoom cut = cut_grid_forward(room, of);
  if (of.is_plain()) step.kept.gates = cut.gates;
  const Tensor rest = rest_of(call.scratch, room);
  multiply(grid,
           GridProduct<Strided, Strided>{
               .rows = walk.steps(),
               .columns = walk.gates,
               .cuts = cuts_of(of.in),
               .left = {.data = call.inputs[0].data, .outer = of.in, .along = 1},
               .right = {.data = call.inputs[1].data, .outer = 1, .along = walk.gates},
               .bias = call.inputs[3].data,
               .out = step.kept.gates,
               .out_stride = walk.gates},
           rest);
  GridProduct<Strided, Strided> product{
      .rows = walk.examples,
      .columns = walk.gates,
      .cuts = cuts_of(walk.units),
      .left = {.outer = walk.time * walk.units, .along = 1},
      .right = {.data = call.inputs[2].data, .outer = 1, .along = walk.gates},
      .out = cut.product,
      .out_stride = walk.gates};
  for (std::int64_t i = 0; i < walk.time; ++i) {
    step.t = walk.at(i);
    step.product = nullptr;
    if (walk.has_before(step.t)) {
      product.left.data = step.kept.h + walk.before(step.t) * walk.units;
      multiply_by_kernels(grid, product, rest);
      step.product = cut.product;
    }
    step_on(grid, of.cell, step);
  }
  write_states(grid, of, step.kept.h, call.output);
}

// The gradients of the parameters and of x, from those of the gates.
template <class Grid>
void add_up_recurrence(Grid& grid, const RecurrentCall& of, const GridBackwardRoom& cut,
                       const BackwardCall& call, Tensor rest) {
  const GridWalk& walk = of.walk;
  const auto kernel_gradient = [&](const GradientTarget& to, const float* from, std::int64_t rows,
                                   const float* gates) {
    if (to.into.data == nullptr) return;
    multiply(
        grid,
        GridProduct<Strided, Strided>{.rows = rows,
                                      .columns = walk.gates,
                                      .cuts = cuts_of(walk.steps()),
                                      .left = {.data = from, .outer = 1, .along = rows},
                                      .right = {.data = gates, .outer = 1, .along = walk.gates},
                                      .out = to.into.data,
                                      .out_stride = walk.gates,
                                      .write = to.write},
        rest);
  };
  kernel_gradient(call.input_gradients[1], call.inputs[0].data, of.in, cut.gates);
  kernel_gradient(call.input_gradients[2], cut.h_before, walk.units, cut.products);
  if (const GradientTarget& to = call.input_gradients[3]; to.into.data != nullptr) {
    sum_rows_on(grid, {cut.gates, {walk.steps(), walk.gates}}, to.into, to.write, rest);
  }
  const GradientTarget& x = call.input_gradients[0];
  if (x.into.data == nullptr) return;
  multiply(grid,
           GridProduct<Strided, Strided>{
               .rows = walk.steps(),
               .columns = of.in,
               .cuts = cuts_of(walk.gates),
               .left = {.data = cut.gates, .outer = walk.gates, .along = 1},
               .right = {.data = call.inputs[1].data, .outer = walk.gates, .along = 1},
               .out = x.into.data,
               .out_stride = of.in,
               .write = x.write},
           rest);
}

// Of the candidate's product with h.
template <class Grid>
void recurrent_bias_gradient(Grid& grid, const GridWalk& walk, const float* products,
                             const GradientTarget& bias, Tensor rest) {
  if (bias.into.data == nullptr) return;
  const float* const from = products + 2 * walk.units;
  const std::int64_t gates = walk.gates;
  const float* const sums =
      sum_over_rows(grid, 1, walk.steps(), walk.units, 1, rest,
                    [=] TRAINYARD_KERNEL(std::int64_t, std::int64_t row, std::int64_t column,
                                         std::int64_t) { return from[row * gates + column]; });
  float* const to = bias.into.data;
  const Write write = bias.write;
  grid.each(walk.units, [=] TRAINYARD_KERNEL(std::int64_t i) { put(to[i], sums[i], write); });
}

template <class Grid>
void recurrence_gradient_on(Grid& grid, const Recurrence& kind, bool has_lengths,
                            const BackwardCall& call) {
  const RecurrentCall of = recurrent_call(kind, call.inputs, has_lengths, call.feed);
  const GridWalk& walk = of.walk;
  FloatRoom<const float> saved{.data = call.saved.data};
  FloatRoom<float> room{.data = call.scratch.data};
  const GridBackwardRoom cut = cut_grid_backward(room, of);
  const Tensor rest = rest_of(call.scratch, room);
  clear_rows_on(grid, {cut.product, {walk.states()}});
  clear_rows_on(grid, {cut.carry, {walk.states()}});
  StepBackward step{.walk = walk,
                    .kept = cut_grid_kept(saved, of),
                    .output_gradient = call.output_gradient.data,
                    .has_all_outputs = of.output == Recurrence::Output::all,
                    .gates = cut.gates,
                    .products = cut.products,
                    .h_before = cut.h_before,
                    .product = cut.product,
                    .carry = cut.carry};
  GridProduct<Strided, Strided> product{
      .rows = walk.examples,
      .columns = walk.units,
      .cuts = cuts_of(walk.gates),
      .left = {.outer = walk.time * walk.gates, .along = 1},
      .right = {.data = call.inputs[2].data, .outer = walk.gates, .along = 1},
      .out = cut.product,
      .out_stride = walk.units};
  for (std::int64_t i = walk.time; i-- > 0;) {
    step.t = walk.at(i);
    step_back_on(grid, of.cell, step);
    if (!walk.has_before(step.t)) continue;
    product.left.data = cut.products + step.t * walk.gates;
    multiply_by_kernels(grid, product, rest);
  }
  add_up_recurrence(grid, of, cut, call, rest);
  if (of.is_gru()) {
    recurrent_bias_gradient(grid, walk, cut.products, call.input_gradients[4], rest);
  }
}

}  // namespace trainyard::runtime
