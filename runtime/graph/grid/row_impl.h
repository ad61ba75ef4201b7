// The kernels of row.h: a team has a row.
#pragma once

#include <cmath>

#include "runtime/core/portable_functions.h"
#include "runtime/graph/grid/elements.h"
#include "runtime/graph/grid/row.h"
#include "runtime/graph/grid/team.h"
#include "runtime/math/ops/cpu/vector_math.h"
#include "runtime/math/ops/row_function.h"

namespace trainyard::runtime {

template <class Grid>
Needs RowOps<Grid>::needs(const SoftmaxOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs RowOps<Grid>::needs(const LogSoftmaxOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs RowOps<Grid>::needs(const L2NormalizeOp&, std::span<const Shape> inputs, const Shape&) {
  return {.saved = inputs[0].rows()};  // norms
}

// As maximum() has it (math/ops/reduction.h). Whoever stores over the row afterwards waits for the
// team first: all of them read its first value.
template <class Team>
TRAINYARD_BOTH float largest_of_row(const Team& team, const float* row, std::int64_t columns) {
  return team.fold(
      columns, row[0], [=](std::int64_t i) { return row[i]; },
      [](float a, float b) { return a < b ? b : a; });
}

template <class Grid>
void RowOps<Grid>::forward(Grid& grid, const SoftmaxOp&, const ForwardCall& call) {
  const std::int64_t columns = call.output.shape.columns();
  const float* const x = call.inputs[0].data;
  float* const y = call.output.data;
  grid.teams(
      call.output.shape.rows(), [=] TRAINYARD_KERNEL(std::int64_t row, typename Grid::Team team) {
        const float* const from = x + row * columns;
        float* const to = y + row * columns;
        const float largest = largest_of_row(team, from, columns);
        team.wait();
        team.each(columns, [=](std::int64_t i) { to[i] = exp_float(from[i] - largest); });
        const float inverse = 1.0F / team.sum(columns, [=](std::int64_t i) { return to[i]; });
        team.each(columns, [=](std::int64_t i) { to[i] = to[i] * inverse; });
      });
}

template <class Grid>
void RowOps<Grid>::backward(Grid& grid, const SoftmaxOp&, const BackwardCall& call) {
  const GradientTarget& target = call.input_gradients[0];
  if (target.into.data == nullptr) return;
  const std::int64_t columns = call.output.shape.columns();
  const Write write = target.write;
  const float* const y = call.output.data;
  const float* const y_gradient = call.output_gradient.data;
  float* const x_gradient = target.into.data;
  grid.teams(
      call.output.shape.rows(), [=] TRAINYARD_KERNEL(std::int64_t row, typename Grid::Team team) {
        const float* const at = y + row * columns;
        const float* const upstream = y_gradient + row * columns;
        float* const to = x_gradient + row * columns;
        const float sum = team.sum(columns, [=](std::int64_t i) { return at[i] * upstream[i]; });
        team.each(columns, [=](std::int64_t i) { put(to[i], at[i] * (upstream[i] - sum), write); });
      });
}

template <class Grid>
void RowOps<Grid>::forward(Grid& grid, const LogSoftmaxOp&, const ForwardCall& call) {
  const std::int64_t columns = call.output.shape.columns();
  const float* const x = call.inputs[0].data;
  float* const y = call.output.data;
  grid.teams(call.output.shape.rows(),
             [=] TRAINYARD_KERNEL(std::int64_t row, typename Grid::Team team) {
               const float* const from = x + row * columns;
               float* const to = y + row * columns;
               const float largest = largest_of_row(team, from, columns);
               team.wait();
               const float total =
                   team.sum(columns, [=](std::int64_t i) { return exp_float(from[i] - largest); });
               const auto log_total = static_cast<float>(log_of_double(static_cast<double>(total)));
               team.each(columns, [=](std::int64_t i) { to[i] = (from[i] - largest) - log_total; });
             });
}

template <class Grid>
void RowOps<Grid>::backward(Grid& grid, const LogSoftmaxOp&, const BackwardCall& call) {
  const GradientTarget& target = call.input_gradients[0];
  if (target.into.data == nullptr) return;
  const std::int64_t columns = call.output.shape.columns();
  const Write write = target.write;
  const float* const y = call.output.data;
  const float* const y_gradient = call.output_gradient.data;
  float* const x_gradient = target.into.data;
  grid.teams(
      call.output.shape.rows(), [=] TRAINYARD_KERNEL(std::int64_t row, typename Grid::Team team) {
        const float* const at = y + row * columns;
        const float* const upstream = y_gradient + row * columns;
        float* const to = x_gradient + row * columns;
        const float sum = team.sum(columns, [=](std::int64_t i) { return upstream[i]; });
        team.each(columns,
                  [=](std::int64_t i) { put(to[i], upstream[i] - exp_float(at[i]) * sum, write); });
      });
}

template <class Grid>
void RowOps<Grid>::forward(Grid& grid, const L2NormalizeOp&, const ForwardCall& call) {
  const std::int64_t columns = call.output.shape.columns();
  const float* const x = call.inputs[0].data;
  float* const y = call.output.data;
  float* const norms = call.saved.data;
  grid.teams(
      call.output.shape.rows(), [=] TRAINYARD_KERNEL(std::int64_t row, typename Grid::Team team) {
        const float* const from = x + row * columns;
        float* const to = y + row * columns;
        const float squares = team.sum(columns, [=](std::int64_t i) { return from[i] * from[i]; });
        const float norm = std::sqrt(squares);
        if (team.is_first()) norms[row] = norm;
        const float divisor = norm < l2_norm_least ? l2_norm_least : norm;
        team.each(columns, [=](std::int64_t i) { to[i] = from[i] / divisor; });
      });
}

// Below the least norm y is linear in x.
template <class Grid>
void RowOps<Grid>::backward(Grid& grid, const L2NormalizeOp&, const BackwardCall& call) {
  const GradientTarget& target = call.input_gradients[0];
  if (target.into.data == nullptr) return;
  const std::int64_t columns = call.output_gradient.shape.columns();
  const Write write = target.write;
  const float* const inputs = call.inputs[0].data;
  const float* const norms = call.saved.data;
  const float* const y_gradient = call.output_gradient.data;
  float* const x_gradient = target.into.data;
  grid.teams(call.output_gradient.shape.rows(),
             [=] TRAINYARD_KERNEL(std::int64_t row, typename Grid::Team team) {
               const float* const x = inputs + row * columns;
               const float* const upstream = y_gradient + row * columns;
               float* const to = x_gradient + row * columns;
               const float norm = norms[row];
               const bool is_small = norm < l2_norm_least;
               const float divisor = is_small ? l2_norm_least : norm;
               const float sum = team.sum(
                   columns, [=](std::int64_t i) { return upstream[i] * (x[i] / divisor); });
               const float along = is_small ? 0.0F : sum;
               team.each(columns, [=](std::int64_t i) {
                 put(to[i], (upstream[i] - (x[i] / divisor) * along) / divisor, write);
               });
             });
}

}  // namespace trainyard::runtime
