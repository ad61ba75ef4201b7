// Strips of columns: what a channel has one of stays in the nearest cache while rows pass by.
#include <array>
#include <cmath>

#include "runtime/math/avx512.h"
#include "runtime/math/elements/norm.h"
#include "runtime/math/ops/cpu/norm_scaling.h"
#include "runtime/math/ops/cpu/row_tree.h"
#include "runtime/math/ops/norm.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

using ChannelStrip = std::array<float, row_sums_width>;

// y = finish((x - mean) * factor + offset)
struct Normalization {
  ChannelStrip mean;
  ChannelStrip factor;
  ChannelStrip offset;
};

struct StripOf {
  std::int64_t first;
  std::int64_t width;
  const Threads& threads;  // for the rows of the strip

  [[nodiscard]] SharedRows shared(std::int64_t rows) const {
    return {threads, rows, nanoseconds_each * static_cast<double>(width)};
  }
  // Calls visit(row) for each.
  template <class Visit>
  void for_each_row(std::int64_t rows, Visit visit) const {
    const double each = nanoseconds_each * static_cast<double>(width);
    threads.split({.count = rows, .nanoseconds_each = each}, [&](const Part& part) {
      by_vectors([&] {
        for (std::int64_t row = part.begin; row < part.end; ++row) visit(row);
      });
    });
  }

  static constexpr double nanoseconds_each = 0.3;  // of a number
};

// Calls visit(strip) for all channels of x, of whose numbers each is read `times` times.
template <class Visit>
void for_each_strip(const Threads& threads, const Shape& x, double times, Visit visit) {
  const double each = times * StripOf::nanoseconds_each * static_cast<double>(x.rows());
  share_column_strips(threads, x.columns(), each,
                      [&](std::int64_t first, std::int64_t width, const Threads& of_strip) {
                        visit(StripOf{first, width, of_strip});
                      });
}

Normalization normalization_of(const FixedNorm& call, const StripOf& strip) {
  Normalization by{};
  for (std::int64_t i = 0; i < strip.width; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t channel = strip.first + i;
    const float inverse = 1.0F / std::sqrt(call.variance.data[channel] + call.epsilon);
    by.mean[at] = call.mean.data[channel];
    by.factor[at] = inverse * scale_at(call.scaling.scale, channel);
    by.offset[at] = offset_at(call.scaling.offset, channel);
  }
  return by;
}

template <Finish finish>
void normalize_row(const float* x, const Normalization& by, std::int64_t width, float* y) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < width; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const float value = batch_normalized(x[i], by.mean[at], by.factor[at], by.offset[at]);
    y[i] = finish == Finish::relu ? relu_of(value) : value;
  }
}

void take_statistics(ConstTensor x, const StripOf& strip, float* mean, float* variance) {
  const std::int64_t columns = x.shape.columns();
  const std::int64_t rows = x.shape.rows();
  const auto count = static_cast<float>(rows);
  const float* const from = x.data + strip.first;
  const auto sums = sum_of_rows<1>(strip.shared(rows), [&](std::int64_t row, RowSums<1>& to) {
    const float* const values = from + row * columns;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < strip.width; ++i) to[0][static_cast<std::size_t>(i)] += values[i];
  });
  ChannelStrip means{};
  for (std::size_t i = 0; i < means.size(); ++i) means[i] = sums[0][i] / count;
  const auto squares = sum_of_rows<1>(strip.shared(rows), [&](std::int64_t row, RowSums<1>& to) {
    const float* const values = from + row * columns;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < strip.width; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const float distance = values[i] - means[at];
      to[0][at] += distance * distance;
    }
  });
  for (std::int64_t i = 0; i < strip.width; ++i) {
    const auto at = static_cast<std::size_t>(i);
    mean[i] = means[at];
    variance[i] = squares[0][at] / count;
  }
}

// Of a channel: what norm_x_gradient needs.
struct BatchNormBack {
  ChannelStrip mean;
  ChannelStrip inverse;
  ChannelStrip factor;
  ChannelStrip dy_mean;
  ChannelStrip xhat_mean;
};

template <Write write>
void x_gradient_row(const float* x, const float* dy, const BatchNormBack& by, std::int64_t width,
                    float* dx) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < width; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const float xhat = xhat_of(x[i], by.mean[at], by.inverse[at]);
    const float value =
        norm_x_gradient(by.factor[at], dy[i], by.dy_mean[at], xhat, by.xhat_mean[at]);
    dx[i] = write == Write::add ? dx[i] + value : value;
  }
}

// Sums over rows: [0] of dy, [1] of dy * xhat.
RowSums<2> sums_of_gradient(const BatchNormGradient& call, const StripOf& strip,
                            const BatchNormBack& by) {
  const std::int64_t columns = call.x.shape.columns();
  return sum_of_rows<2>(strip.shared(call.x.shape.rows()), [&](std::int64_t row, RowSums<2>& to) {
    const float* const x = call.x.data + row * columns + strip.first;
    const float* const dy = call.y_gradient.data + row * columns + strip.first;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < strip.width; ++i) {
      const auto at = static_cast<std::size_t>(i);
      to[0][at] += dy[i];
      to[1][at] += dy[i] * xhat_of(x[i], by.mean[at], by.inverse[at]);
    }
  });
}

void gradient_of_strip(const BatchNormGradient& call, const StripOf& strip) {
  const std::int64_t columns = call.x.shape.columns();
  const std::int64_t rows = call.x.shape.rows();
  BatchNormBack by{};
  for (std::int64_t i = 0; i < strip.width; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t channel = strip.first + i;
    by.mean[at] = call.mean.data[channel];
    by.inverse[at] = 1.0F / std::sqrt(call.variance.data[channel] + call.epsilon);
    by.factor[at] = by.inverse[at] * scale_at(call.scale, channel);
  }
  const RowSums<2> sums = sums_of_gradient(call, strip, by);
  store_sums_of(sums[0].data(), strip.first, strip.width, call.scaling.offset, call.scaling.write);
  store_sums_of(sums[1].data(), strip.first, strip.width, call.scaling.scale, call.scaling.write);
  if (call.x_gradient.data == nullptr) return;
  const auto count = static_cast<float>(rows);
  for (std::size_t i = 0; i < by.mean.size(); ++i) {
    by.dy_mean[i] = sums[0][i] / count;
    by.xhat_mean[i] = sums[1][i] / count;
  }
  strip.for_each_row(rows, [&](std::int64_t row) {
    const std::int64_t at = row * columns + strip.first;
    if (call.write == Write::add) {
      x_gradient_row<Write::add>(call.x.data + at, call.y_gradient.data + at, by, strip.width,
                                 call.x_gradient.data + at);
    } else {
      x_gradient_row<Write::overwrite>(call.x.data + at, call.y_gradient.data + at, by, strip.width,
                                       call.x_gradient.data + at);
    }
  });
}

}  // namespace

void fixed_norm(const FixedNorm& call) {
  const std::int64_t columns = call.x.shape.columns();
  ENSURE(call.x.shape == call.y.shape);
  ENSURE(call.mean.elements() == columns && call.variance.elements() == columns);
  for_each_strip(call.threads, call.x.shape, 1, [&](const StripOf& strip) {
    const Normalization by = normalization_of(call, strip);
    strip.for_each_row(call.x.shape.rows(), [&](std::int64_t row) {
      const std::int64_t at = row * columns + strip.first;
      if (call.finish == Finish::relu) {
        normalize_row<Finish::relu>(call.x.data + at, by, strip.width, call.y.data + at);
      } else {
        normalize_row<Finish::as_it_is>(call.x.data + at, by, strip.width, call.y.data + at);
      }
    });
  });
}

void batch_norm(const BatchNormForward& call) {
  const std::int64_t columns = call.x.shape.columns();
  ENSURE(call.x.shape.rows() > 0);
  ENSURE(call.mean.elements() == columns && call.variance.elements() == columns);
  for_each_strip(call.threads, call.x.shape, 2, [&](const StripOf& strip) {
    take_statistics(call.x, strip, call.mean.data + strip.first, call.variance.data + strip.first);
  });
  fixed_norm({.x = call.x,
              .scaling = call.scaling,
              .epsilon = call.epsilon,
              .finish = call.finish,
              .mean = call.mean,
              .variance = call.variance,
              .y = call.y,
              .threads = call.threads});
}

void batch_norm_gradient(const BatchNormGradient& call) {
  const std::int64_t columns = call.x.shape.columns();
  ENSURE(call.x.shape == call.y_gradient.shape);
  ENSURE(call.x_gradient.data == nullptr || call.x.shape == call.x_gradient.shape);
  ENSURE(call.mean.elements() == columns && call.variance.elements() == columns);
  for_each_strip(call.threads, call.x.shape, 2,
                 [&](const StripOf& strip) { gradient_of_strip(call, strip); });
}

void batch_norm_state(const BatchNormState& call) {
  ENSURE(call.rows >= 1 && call.mean.shape == call.mean_sum.shape);
  ENSURE(call.variance.shape == call.variance_sum.shape && call.mean.shape == call.variance.shape);
  const auto examples = static_cast<float>(call.examples);
  const auto rows = static_cast<float>(call.rows);
  const float unbiased = rows > 1 ? rows / (rows - 1) : 1.0F;
  for (std::int64_t i = 0; i < call.mean.elements(); ++i) {
    const float mean = examples * call.mean.data[i];
    const float variance = examples * (call.variance.data[i] * unbiased);
    float& mean_sum = call.mean_sum.data[i];
    float& variance_sum = call.variance_sum.data[i];
    mean_sum = call.write == Write::add ? mean_sum + mean : mean;
    variance_sum = call.write == Write::add ? variance_sum + variance : variance;
  }
}

}  // namespace trainyard::runtime
