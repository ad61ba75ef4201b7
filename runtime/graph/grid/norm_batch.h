// Batch norm on a grid: the order of math/ops/cpu/batch_norm.cpp. Saved are the channels' means and
// behind them their variances; scratch has four numbers of each channel, then the sums over rows.
#pragma once

#include <cmath>

#include "runtime/graph/grid/norm_parts.h"

namespace trainyard::runtime {

inline Needs batch_norm_needs(const Shape& x) {
  const std::int64_t channels = x.columns();
  return {.saved = 2 * channels, .scratch = 4 * channels + row_sums_scratch(x.rows(), channels, 2)};
}

// y = (x - mean) * factor + offset
template <class Grid>
void normalize_channels(Grid& grid, const ForwardCall& call, const float* mean, const float* factor,
                        NormScaling by) {
  const std::int64_t channels = call.output.shape.columns();
  const float* const x = call.inputs[0].data;
  float* const y = call.output.data;
  grid.each(call.output.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t channel = i % channels;
    y[i] = batch_normalized(x[i], mean[channel], factor[channel], by.offset_at(channel));
  });
}

// inverse * scale, of each channel
template <class Grid>
void channel_factors(Grid& grid, std::int64_t channels, const float* variance, float epsilon,
                     NormScaling by, float* factors) {
  grid.each(channels, [=] TRAINYARD_KERNEL(std::int64_t channel) {
    factors[channel] = 1.0F / std::sqrt(variance[channel] + epsilon) * by.scale_at(channel);
  });
}

template <class Grid>
void channel_statistics(Grid& grid, ConstTensor x, Tensor scratch, float* means, float* variances) {
  const std::int64_t channels = x.shape.columns();
  const std::int64_t rows = x.shape.rows();
  const auto count = static_cast<float>(rows);
  const float* const from = x.data;
  const float* const sums =
      sum_over_rows(grid, 1, rows, channels, 1, scratch,
                    [=] TRAINYARD_KERNEL(std::int64_t, std::int64_t row, std::int64_t channel,
                                         std::int64_t) { return from[row * channels + channel]; });
  grid.each(channels, [=] TRAINYARD_KERNEL(std::int64_t i) { means[i] = sums[i] / count; });
  const float* const squares = sum_over_rows(
      grid, 1, rows, channels, 1, scratch,
      [=] TRAINYARD_KERNEL(std::int64_t, std::int64_t row, std::int64_t channel, std::int64_t) {
        const float distance = from[row * channels + channel] - means[channel];
        return distance * distance;
      });
  grid.each(channels, [=] TRAINYARD_KERNEL(std::int64_t i) { variances[i] = squares[i] / count; });
}

template <class Grid>
void batch_norm_forward(Grid& grid, const BatchNormOp& op, const ForwardCall& call) {
  const ConstTensor& x = call.inputs[0];
  const std::int64_t channels = x.shape.columns();
  const NormScaling scaling = norm_scaling(op.has, call.inputs);
  NormRoom room(call.scratch);
  float* const factors = room.take(channels);
  const float* mean = call.saved.data;
  const float* variance = call.saved.data + channels;
  if (call.pass == Pass::evaluate) {
    mean = call.inputs[place_of_mean(op.has)].data;
    variance = call.inputs[place_of_mean(op.has) + 1].data;
  } else {
    ENSURE(x.shape.rows() > 0);
    channel_statistics(grid, x, room.rest(), call.saved.data, call.saved.data + channels);
  }
  channel_factors(grid, channels, variance, static_cast<float>(op.epsilon), scaling, factors);
  normalize_channels(grid, call, mean, factors, scaling);
}

// Where gradients of the state would stand: what the batch adds to the sums that running averages
// are made of.
template <class Grid>
void batch_norm_state_on(Grid& grid, const BatchNormOp& op, const BackwardCall& call) {
  const GradientTarget& mean = call.input_gradients[place_of_mean(op.has)];
  const GradientTarget& variance = call.input_gradients[place_of_mean(op.has) + 1];
  ENSURE(mean.into.data != nullptr && variance.into.data != nullptr);
  ENSURE(mean.write == variance.write && call.inputs[0].shape.rows() >= 1);
  const std::int64_t channels = call.inputs[0].shape.columns();
  const auto examples = static_cast<float>(call.feed.examples);
  const auto rows = static_cast<float>(call.inputs[0].shape.rows());
  const float unbiased = rows > 1 ? rows / (rows - 1) : 1.0F;
  const float* const means = call.saved.data;
  float* const mean_sums = mean.into.data;
  float* const variance_sums = variance.into.data;
  const Write write = mean.write;
  grid.each(channels, [=] TRAINYARD_KERNEL(std::int64_t i) {
    put(mean_sums[i], examples * means[i], write);
    put(variance_sums[i], examples * (means[channels + i] * unbiased), write);
  });
}

// Of a channel: what norm_x_gradient needs.
struct ChannelsBack {
  float* inverse;
  float* factor;
  float* dy_mean;
  float* xhat_mean;
};

// The gradients of scale and offset, and what x's needs.
template <class Grid>
void batch_norm_sums(Grid& grid, const BatchNormOp& op, const BackwardCall& call, ChannelsBack by,
                     Tensor scratch) {
  const std::int64_t channels = call.inputs[0].shape.columns();
  const std::int64_t rows = call.inputs[0].shape.rows();
  const auto epsilon = static_cast<float>(op.epsilon);
  const NormScaling scaling = norm_scaling(op.has, call.inputs);
  const float* const mean = call.saved.data;
  const float* const variance = call.saved.data + channels;
  grid.each(channels, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const float inverse = 1.0F / std::sqrt(variance[i] + epsilon);
    by.inverse[i] = inverse;
    by.factor[i] = inverse * scaling.scale_at(i);
  });
  const float* const x = call.inputs[0].data;
  const float* const dy = call.output_gradient.data;
  const float* const sums = sum_over_rows(
      grid, 1, rows, channels, 2, scratch,
      [=] TRAINYARD_KERNEL(std::int64_t, std::int64_t row, std::int64_t i, std::int64_t sum) {
        const float gradient = dy[row * channels + i];
        if (sum == 0) return gradient;
        return gradient * xhat_of(x[row * channels + i], mean[i], by.inverse[i]);
      });
  const NormScalingGradients into = norm_scaling_gradients(op.has, call.input_gradients);
  const auto count = static_cast<float>(rows);
  grid.each(channels, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const float dy_sum = sums[i];
    const float xhat_sum = sums[channels + i];
    into.store(i, dy_sum, xhat_sum);
    by.dy_mean[i] = dy_sum / count;
    by.xhat_mean[i] = xhat_sum / count;
  });
}

template <class Grid>
void batch_norm_backward(Grid& grid, const BatchNormOp& op, const BackwardCall& call) {
  batch_norm_state_on(grid, op, call);
  const GradientTarget& target = call.input_gradients[0];
  const bool has_scaling = norm_scaling_gradients(op.has, call.input_gradients).are_wanted();
  if (target.into.data == nullptr && !has_scaling) return;
  const std::int64_t channels = call.inputs[0].shape.columns();
  NormRoom room(call.scratch);
  float* const inverse = room.take(channels);
  float* const factor = room.take(channels);
  float* const dy_mean = room.take(channels);
  float* const xhat_mean = room.take(channels);
  batch_norm_sums(grid, op, call, {inverse, factor, dy_mean, xhat_mean}, room.rest());
  if (target.into.data == nullptr) return;
  const float* const mean = call.saved.data;
  const float* const x = call.inputs[0].data;
  const float* const dy = call.output_gradient.data;
  float* const dx = target.into.data;
  const Write write = target.write;
  grid.each(target.into.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t channel = i % channels;
    const float xhat = xhat_of(x[i], mean[channel], inverse[channel]);
    const float value =
        norm_x_gradient(factor[channel], dy[i], dy_mean[channel], xhat, xhat_mean[channel]);
    put(dx[i], value, write);
  });
}

}  // namespace trainyard::runtime
