// Group norm on a grid: the order of math/ops/cpu/group_norm.cpp. Columns are summed over an
// example's pixels, then those of a group by a team.
#pragma once

#include <cmath>

#include "runtime/graph/grid/norm_parts.h"

namespace trainyard::runtime {

struct NormGroups {
  std::int64_t examples;
  std::int64_t pixels;
  std::int64_t channels;
  std::int64_t groups;  // of an example
  std::int64_t width;   // channels of a group

  [[nodiscard]] std::int64_t all() const { return examples * groups; }
  [[nodiscard]] std::int64_t elements() const { return examples * pixels * channels; }
  [[nodiscard]] float values() const { return static_cast<float>(pixels * width); }
  // Of an element of x, its group among all.
  [[nodiscard]] TRAINYARD_BOTH std::int64_t group_of(std::int64_t element) const {
    const std::int64_t example = element / (pixels * channels);
    return example * groups + element % channels / width;
  }
};

inline NormGroups norm_groups(const GroupNormOp& op, const Shape& x) {
  ENSURE(x.rank() >= 2 && op.groups > 0 && x.columns() % op.groups == 0);
  const std::int64_t examples = x[0];
  return {.examples = examples,
          .pixels = examples == 0 ? 0 : x.rows() / examples,
          .channels = x.columns(),
          .groups = op.groups,
          .width = x.columns() / op.groups};
}

// Scratch: two numbers of each group, sums over the pixels, then those over the examples.
inline Needs group_norm_needs(const GroupNormOp& op, const Shape& x) {
  const NormGroups shape = norm_groups(op, x);
  return {.saved = 2 * shape.all(),
          .scratch = 2 * shape.all() +
                     row_sums_scratch(shape.pixels, shape.channels, 2, shape.examples) +
                     row_sums_scratch(shape.examples, shape.channels, 2)};
}

// means[group] = the sum over the group's columns of `sums` [examples, channels] / its values
template <class Grid>
void group_means(Grid& grid, NormGroups shape, const float* sums, float* means) {
  const float values = shape.values();
  grid.teams(shape.all(), [=] TRAINYARD_KERNEL(std::int64_t group, typename Grid::Team team) {
    const float* const from = sums + group * shape.width;
    const float sum = team.sum(shape.width, [&](std::int64_t i) { return from[i]; });
    if (team.is_first()) means[group] = sum / values;
  });
}

template <class Grid>
void group_statistics(Grid& grid, NormGroups shape, const float* x, float epsilon, Tensor scratch,
                      float* means, float* inverses) {
  const float* const sums =
      sum_over_rows(grid, shape.examples, shape.pixels, shape.channels, 1, scratch,
                    [=] TRAINYARD_KERNEL(std::int64_t example, std::int64_t pixel,
                                         std::int64_t channel, std::int64_t) {
                      return x[(example * shape.pixels + pixel) * shape.channels + channel];
                    });
  group_means(grid, shape, sums, means);
  const float* const squares = sum_over_rows(
      grid, shape.examples, shape.pixels, shape.channels, 1, scratch,
      [=] TRAINYARD_KERNEL(std::int64_t example, std::int64_t pixel, std::int64_t channel,
                           std::int64_t) {
        const std::int64_t at = (example * shape.pixels + pixel) * shape.channels + channel;
        const float distance = x[at] - means[example * shape.groups + channel / shape.width];
        return distance * distance;
      });
  group_means(grid, shape, squares, inverses);
  grid.each(shape.all(), [=] TRAINYARD_KERNEL(std::int64_t group) {
    inverses[group] = 1.0F / std::sqrt(inverses[group] + epsilon);
  });
}

template <class Grid>
void group_norm_forward(Grid& grid, const GroupNormOp& op, const ForwardCall& call) {
  const NormGroups shape = norm_groups(op, call.inputs[0].shape);
  const NormScaling by = norm_scaling(op.has, call.inputs);
  float* const means = call.saved.data;
  float* const inverses = call.saved.data + shape.all();
  const float* const x = call.inputs[0].data;
  group_statistics(grid, shape, x, static_cast<float>(op.epsilon), call.scratch, means, inverses);
  float* const y = call.output.data;
  grid.each(shape.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t channel = i % shape.channels;
    const std::int64_t group = shape.group_of(i);
    y[i] = scaled(xhat_of(x[i], means[group], inverses[group]), by.scale_at(channel),
                  by.offset_at(channel));
  });
}

// Of each example and channel the sums over pixels of dy, and of dy * xhat: [examples, 2,
// channels].
template <class Grid>
const float* sums_over_pixels(Grid& grid, NormGroups shape, const BackwardCall& call,
                              Tensor scratch) {
  const float* const means = call.saved.data;
  const float* const inverses = call.saved.data + shape.all();
  const float* const x = call.inputs[0].data;
  const float* const dy = call.output_gradient.data;
  return sum_over_rows(grid, shape.examples, shape.pixels, shape.channels, 2, scratch,
                       [=] TRAINYARD_KERNEL(std::int64_t example, std::int64_t pixel,
                                            std::int64_t channel, std::int64_t sum) {
                         const std::int64_t at =
                             (example * shape.pixels + pixel) * shape.channels + channel;
                         if (sum == 0) return dy[at];
                         const std::int64_t group = example * shape.groups + channel / shape.width;
                         return dy[at] * xhat_of(x[at], means[group], inverses[group]);
                       });
}

// Sums of examples, each a sum over pixels.
template <class Grid>
void groups_scaling_gradients(Grid& grid, NormGroups shape, const float* by_example,
                              NormScalingGradients into, Tensor scratch) {
  if (!into.are_wanted()) return;
  const std::int64_t channels = shape.channels;
  const float* const sums =
      sum_over_rows(grid, 1, shape.examples, channels, 2, scratch,
                    [=] TRAINYARD_KERNEL(std::int64_t, std::int64_t example, std::int64_t channel,
                                         std::int64_t sum) {
                      return by_example[(2 * example + sum) * channels + channel];
                    });
  store_scaling_gradients(grid, channels, sums, sums + channels, into);
}

// Of each group the means of dy * scale, and of that times xhat.
template <class Grid>
void group_gradient_means(Grid& grid, NormGroups shape, const float* by_example, NormScaling by,
                          float* dy_means, float* xhat_means) {
  const float values = shape.values();
  grid.teams(shape.all(), [=] TRAINYARD_KERNEL(std::int64_t group, typename Grid::Team team) {
    const std::int64_t first = group % shape.groups * shape.width;
    const float* const dy = by_example + group / shape.groups * 2 * shape.channels + first;
    const float* const xhat = dy + shape.channels;
    const float dy_sum =
        team.sum(shape.width, [&](std::int64_t i) { return dy[i] * by.scale_at(first + i); });
    const float xhat_sum =
        team.sum(shape.width, [&](std::int64_t i) { return xhat[i] * by.scale_at(first + i); });
    if (!team.is_first()) return;
    dy_means[group] = dy_sum / values;
    xhat_means[group] = xhat_sum / values;
  });
}

template <class Grid>
void group_norm_backward(Grid& grid, const GroupNormOp& op, const BackwardCall& call) {
  const NormGroups shape = norm_groups(op, call.inputs[0].shape);
  const NormScaling by = norm_scaling(op.has, call.inputs);
  const NormScalingGradients into = norm_scaling_gradients(op.has, call.input_gradients);
  const GradientTarget& target = call.input_gradients[0];
  if (target.into.data == nullptr && !into.are_wanted()) return;
  NormRoom room(call.scratch);
  float* const dy_means = room.take(shape.all());
  float* const xhat_means = room.take(shape.all());
  const std::int64_t of_pixels = row_sums_scratch(shape.pixels, shape.channels, 2, shape.examples);
  const Tensor pixels{room.take(of_pixels), {of_pixels}};
  const float* const by_example = sums_over_pixels(grid, shape, call, pixels);
  groups_scaling_gradients(grid, shape, by_example, into, room.rest());
  if (target.into.data == nullptr) return;
  group_gradient_means(grid, shape, by_example, by, dy_means, xhat_means);
  const float* const means = call.saved.data;
  const float* const inverses = call.saved.data + shape.all();
  const float* const x = call.inputs[0].data;
  const float* const dy = call.output_gradient.data;
  float* const dx = target.into.data;
  const Write write = target.write;
  grid.each(shape.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t group = shape.group_of(i);
    const float xhat = xhat_of(x[i], means[group], inverses[group]);
    const float gradient = dy[i] * by.scale_at(i % shape.channels);
    put(dx[i], norm_x_gradient(inverses[group], gradient, dy_means[group], xhat, xhat_means[group]),
        write);
  });
}

}  // namespace trainyard::runtime
