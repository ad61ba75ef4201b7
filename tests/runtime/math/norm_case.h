// The four normalisations as one: each number belongs to a set, whose mean and variance it is
// normalised by, and to a channel, which has a scale and an offset. In double, by definition.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/ops/norm.h"
#include "tests/runtime/math/float64.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {

enum class Norm { batch, layer, rms, group };

struct NormShape {
  Norm norm = Norm::batch;
  std::int64_t examples = 1;  // group norm alone looks at it
  std::int64_t rows = 1;      // of all examples
  std::int64_t channels = 1;
  std::int64_t groups = 1;

  [[nodiscard]] Shape x() const {
    if (norm == Norm::group) return {examples, rows / examples, channels};
    return {rows, channels};
  }
  [[nodiscard]] Shape sets() const {
    if (norm == Norm::batch) return {channels};
    if (norm == Norm::group) return {examples, groups};
    return {rows};
  }
  [[nodiscard]] std::size_t set_of(std::int64_t i) const {
    const std::int64_t row = i / channels;
    const std::int64_t channel = i % channels;
    if (norm == Norm::batch) return static_cast<std::size_t>(channel);
    if (norm != Norm::group) return static_cast<std::size_t>(row);
    const std::int64_t example = row / (rows / examples);
    return static_cast<std::size_t>(example * groups + channel / (channels / groups));
  }
  [[nodiscard]] std::size_t channel_of(std::int64_t i) const {
    return static_cast<std::size_t>(i % channels);
  }
  [[nodiscard]] std::string text() const {
    return "norm " + std::to_string(static_cast<int>(norm)) + ": " + std::to_string(examples) +
           " examples, " + std::to_string(rows) + " rows, " + std::to_string(channels) +
           " channels, " + std::to_string(groups) + " groups";
  }
};

struct NormValues {
  std::vector<float> x;
  std::vector<float> scale;
  std::vector<float> offset;  // rms: empty
  std::vector<float> y_gradient;
};

inline NormValues norm_values(const NormShape& shape) {
  const auto elements = static_cast<std::size_t>(shape.x().elements());
  const auto channels = static_cast<std::size_t>(shape.channels);
  NormValues values{random_floats(elements, 1), random_floats(channels, 2),
                    random_floats(channels, 3), random_floats(elements, 4)};
  for (float& value : values.x) value = 2 * value + 3;  // a mean that has to be taken off
  if (shape.norm == Norm::rms) values.offset.clear();
  return values;
}

struct Normalized {
  std::vector<float> y;
  std::vector<float> mean;    // of each set
  std::vector<float> spread;  // its variance (batch), or 1 / sqrt(variance + epsilon)
  std::vector<float> x_gradient;
  std::vector<float> scale_gradient;
  std::vector<float> offset_gradient;
};

constexpr float norm_epsilon = 1e-5F;

inline Normalized normalized_by_definition(const NormShape& shape, const NormValues& values) {
  const auto sets = static_cast<std::size_t>(shape.sets().elements());
  const auto size = static_cast<std::int64_t>(values.x.size());
  const double count = static_cast<double>(size) / static_cast<double>(sets);
  std::vector<double> mean(sets), variance(sets), gradient_mean(sets), xhat_mean(sets);
  const auto for_each = [&](auto visit) {
    for (std::int64_t i = 0; i < size; ++i) {
      visit(static_cast<std::size_t>(i), shape.set_of(i), shape.channel_of(i));
    }
  };
  if (shape.norm != Norm::rms) {
    for_each([&](std::size_t i, std::size_t set, std::size_t) {
      mean[set] += wide(values.x[i]) / count;
    });
  }
  for_each([&](std::size_t i, std::size_t set, std::size_t) {
    const double distance = wide(values.x[i]) - mean[set];
    variance[set] += distance * distance / count;
  });
  std::vector<double> y(values.x.size()), x_gradient(values.x.size());
  std::vector<double> scale_gradient(values.scale.size()), offset_gradient(values.scale.size());
  const auto inverse_of = [&](std::size_t set) {
    return 1 / std::sqrt(variance[set] + wide(norm_epsilon));
  };
  const auto xhat_of = [&](std::size_t i, std::size_t set) {
    return (wide(values.x[i]) - mean[set]) * inverse_of(set);
  };
  for_each([&](std::size_t i, std::size_t set, std::size_t channel) {
    const double xhat = xhat_of(i, set);
    const double dy = wide(values.y_gradient[i]);
    const double gradient = dy * wide(values.scale[channel]);
    y[i] = xhat * wide(values.scale[channel]) +
           (values.offset.empty() ? 0.0 : wide(values.offset[channel]));
    scale_gradient[channel] += dy * xhat;
    offset_gradient[channel] += dy;
    if (shape.norm != Norm::rms) gradient_mean[set] += gradient / count;
    xhat_mean[set] += gradient * xhat / count;
  });
  for_each([&](std::size_t i, std::size_t set, std::size_t channel) {
    const double gradient = wide(values.y_gradient[i]) * wide(values.scale[channel]);
    x_gradient[i] =
        inverse_of(set) * (gradient - gradient_mean[set] - xhat_of(i, set) * xhat_mean[set]);
  });
  std::vector<double> spread(sets);
  for (std::size_t set = 0; set < sets; ++set) {
    spread[set] = shape.norm == Norm::batch ? variance[set] : inverse_of(set);
  }
  return {rounded(y),          rounded(mean),           rounded(spread),
          rounded(x_gradient), rounded(scale_gradient), rounded(offset_gradient)};
}

}  // namespace trainyard::runtime
