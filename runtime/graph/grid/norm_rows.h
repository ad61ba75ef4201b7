// Layer norm and RMS norm on a grid: the order of math/ops/cpu/layer_norm.cpp, a team for each row.
#pragma once

#include <cmath>

#include "runtime/graph/grid/norm_parts.h"

namespace trainyard::runtime {

// What is kept of each row; mean is null where 0 is taken for it.
struct RowsKept {
  float* mean;
  float* inverse;  // 1 / sqrt(variance + epsilon)
};

struct ConstRowsKept {
  const float* mean;
  const float* inverse;
};

template <class Grid>
void normalize_rows_on(Grid& grid, const NormInputs& has, double epsilon, const ForwardCall& call,
                       RowsKept kept) {
  const std::int64_t columns = call.output.shape.columns();
  ENSURE(columns > 0);
  const auto count = static_cast<float>(columns);
  const auto above_zero = static_cast<float>(epsilon);
  const NormScaling by = norm_scaling(has, call.inputs);
  const float* const xs = call.inputs[0].data;
  float* const ys = call.output.data;
  grid.teams(call.output.shape.rows(),
             [=] TRAINYARD_KERNEL(std::int64_t row, typename Grid::Team team) {
               const float* const x = xs + row * columns;
               float* const y = ys + row * columns;
               float mean = 0.0F;
               if (kept.mean != nullptr) {
                 mean = team.sum(columns, [&](std::int64_t i) { return x[i]; }) / count;
                 if (team.is_first()) kept.mean[row] = mean;
               }
               const float squares = team.sum(columns, [&](std::int64_t i) {
                 const float distance = x[i] - mean;
                 return distance * distance;
               });
               const float inverse = 1.0F / std::sqrt(squares / count + above_zero);
               if (team.is_first()) kept.inverse[row] = inverse;
               team.each(columns, [&](std::int64_t i) {
                 y[i] = scaled(xhat_of(x[i], mean, inverse), by.scale_at(i), by.offset_at(i));
               });
             });
}

template <class Grid>
void rows_scaling_gradients(Grid& grid, const BackwardCall& call, NormScalingGradients into,
                            ConstRowsKept kept) {
  if (!into.are_wanted()) return;
  const std::int64_t columns = call.inputs[0].shape.columns();
  const std::int64_t first = into.offset == nullptr ? 1 : 0;  // of the two sums those wanted
  const std::int64_t last = into.scale == nullptr ? 0 : 1;
  const float* const x = call.inputs[0].data;
  const float* const dy = call.output_gradient.data;
  const float* const sums = sum_over_rows(
      grid, 1, call.inputs[0].shape.rows(), columns, last - first + 1, call.scratch,
      [=] TRAINYARD_KERNEL(std::int64_t, std::int64_t row, std::int64_t i, std::int64_t sum) {
        const float gradient = dy[row * columns + i];
        if (first + sum == 0) return gradient;
        const float mean = kept.mean == nullptr ? 0.0F : kept.mean[row];
        return gradient * xhat_of(x[row * columns + i], mean, kept.inverse[row]);
      });
  store_scaling_gradients(grid, columns, sums, sums + (last - first) * columns, into);
}

template <class Grid>
void normalize_rows_back(Grid& grid, const NormInputs& has, const BackwardCall& call,
                         ConstRowsKept kept) {
  rows_scaling_gradients(grid, call, norm_scaling_gradients(has, call.input_gradients), kept);
  const GradientTarget& target = call.input_gradients[0];
  if (target.into.data == nullptr) return;
  const std::int64_t columns = call.inputs[0].shape.columns();
  const auto count = static_cast<float>(columns);
  const NormScaling by = norm_scaling(has, call.inputs);
  const float* const xs = call.inputs[0].data;
  const float* const dys = call.output_gradient.data;
  float* const dxs = target.into.data;
  const Write write = target.write;
  grid.teams(call.inputs[0].shape.rows(), [=] TRAINYARD_KERNEL(std::int64_t row,
                                                               typename Grid::Team team) {
    const float* const x = xs + row * columns;
    const float* const dy = dys + row * columns;
    float* const dx = dxs + row * columns;
    const bool has_mean = kept.mean != nullptr;
    const float mean = has_mean ? kept.mean[row] : 0.0F;
    const float inverse = kept.inverse[row];
    const auto gradient_at = [&](std::int64_t i) { return dy[i] * by.scale_at(i); };
    const auto xhat_at = [&](std::int64_t i) { return xhat_of(x[i], mean, inverse); };
    const float dy_mean = has_mean ? team.sum(columns, gradient_at) / count : 0.0F;
    const float xhat_mean =
        team.sum(columns, [&](std::int64_t i) { return gradient_at(i) * xhat_at(i); }) / count;
    // dx may be dy: each thread writes what it alone reads.
    team.each(columns, [&](std::int64_t i) {
      put(dx[i], norm_x_gradient(inverse, gradient_at(i), dy_mean, xhat_at(i), xhat_mean), write);
    });
  });
}

}  // namespace trainyard::runtime
