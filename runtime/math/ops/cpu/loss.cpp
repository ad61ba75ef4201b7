#include "runtime/math/ops/loss.h"

#include <algorithm>
#include <cmath>

#include "runtime/core/portable_math.h"
#include "runtime/math/avx512.h"
#include "runtime/math/ops/cpu/vector_math.h"
#include "runtime/math/ops/reduction.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

template <class T>
std::span<T> row_of(View<T> matrix, std::size_t row) {
  const auto columns = static_cast<std::size_t>(matrix.shape.columns());
  return {matrix.data + row * columns, columns};
}

void put(float& place, float value, Write write) {
  place = write == Write::add ? place + value : value;
}

}  // namespace

void softmax_cross_entropy(ConstTensor logits, std::span<const std::int32_t> labels, Tensor losses,
                           Tensor probabilities, float label_smoothing) {
  ENSURE(logits.shape == probabilities.shape);
  ENSURE(std::ssize(labels) == logits.shape.rows() && std::ssize(labels) == losses.elements());
  // Whatever the largest logit is, the exponents stay at or below zero.
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto from = row_of(logits, row);
    const auto to = row_of(probabilities, row);
    const float largest = maximum(from);
    for (std::size_t column = 0; column < from.size(); ++column)
      to[column] = from[column] - largest;
    losses.data[row] = -to[static_cast<std::size_t>(labels[row])];
    if (label_smoothing > 0) {
      const float mean = -sum(to) / static_cast<float>(to.size());
      losses.data[row] = (1.0F - label_smoothing) * losses.data[row] + label_smoothing * mean;
    }
  }
  by_vectors([values = probabilities.span()] {
    for (float& value : values) value = exp_float(value);
  });
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto exponentials = row_of(probabilities, row);
    const float total = sum(exponentials);
    losses.data[row] += static_cast<float>(portable_log(static_cast<double>(total)));
    const float inverse = 1.0F / total;
    for (float& value : exponentials) value *= inverse;
  }
}

void softmax_cross_entropy_gradient(ConstTensor probabilities, std::span<const std::int32_t> labels,
                                    ConstTensor losses_gradient, Tensor logits_gradient,
                                    Write write, float label_smoothing) {
  ENSURE(probabilities.shape == logits_gradient.shape);
  ENSURE(std::ssize(labels) == losses_gradient.elements());
  const float shared = label_smoothing / static_cast<float>(probabilities.shape.columns());
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto from = row_of(probabilities, row);
    const auto to = row_of(logits_gradient, row);
    const float scale = losses_gradient.data[row];
    for (std::size_t column = 0; column < from.size(); ++column) {
      put(to[column], scale * (from[column] - shared), write);
    }
    to[static_cast<std::size_t>(labels[row])] -= scale * (1.0F - label_smoothing);
  }
}

// The loss is log(1 + e^s) with s = -logit for label 1 and logit for label 0, which is max(s, 0) +
// log(1 + e^-|s|): no exponent is above zero. In double, so that small losses keep their digits.
// That of the other label is as much less s.
void sigmoid_cross_entropy(ConstTensor logits, std::span<const std::int32_t> labels, Tensor losses,
                           float label_smoothing) {
  ENSURE(std::ssize(labels) == logits.elements() && std::ssize(labels) == losses.elements());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const float s = labels[i] == 1 ? -logits.data[i] : logits.data[i];
    const auto rest = static_cast<double>(exp_float(-std::fabs(s)));
    const float above = s < 0.0F ? 0.0F : s;
    losses.data[i] = above + static_cast<float>(portable_log(1.0 + rest));
    if (label_smoothing > 0) losses.data[i] -= label_smoothing / 2 * s;
  }
}

void sigmoid_cross_entropy_gradient(ConstTensor logits, std::span<const std::int32_t> labels,
                                    ConstTensor losses_gradient, Tensor logits_gradient,
                                    Write write, float label_smoothing) {
  ENSURE(std::ssize(labels) == logits.elements());
  ENSURE(losses_gradient.elements() == logits.elements());
  ENSURE(logits.shape == logits_gradient.shape);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<float>(labels[i]);
    const float smoothed = label + label_smoothing * (0.5F - label);
    const float difference = sigmoid_float(logits.data[i]) - smoothed;
    put(logits_gradient.data[i], losses_gradient.data[i] * difference, write);
  }
}

void squared_error(ConstTensor predictions, std::span<const float> targets, Tensor losses) {
  ENSURE(std::ssize(targets) == predictions.elements() && std::ssize(targets) == losses.elements());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const float difference = predictions.data[i] - targets[i];
    losses.data[i] = difference * difference;
  }
}

void squared_error_gradient(ConstTensor predictions, std::span<const float> targets,
                            ConstTensor losses_gradient, Tensor predictions_gradient, Write write) {
  ENSURE(std::ssize(targets) == predictions.elements());
  ENSURE(predictions.shape == predictions_gradient.shape);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const float difference = predictions.data[i] - targets[i];
    put(predictions_gradient.data[i], losses_gradient.data[i] * (2.0F * difference), write);
  }
}

void huber_error(float delta, ConstTensor predictions, std::span<const float> targets,
                 Tensor losses) {
  ENSURE(std::ssize(targets) == predictions.elements() && std::ssize(targets) == losses.elements());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const float distance = std::fabs(predictions.data[i] - targets[i]);
    losses.data[i] = distance > delta ? delta * (distance - 0.5F * delta)  //
                                      : 0.5F * (distance * distance);
  }
}

void huber_error_gradient(float delta, ConstTensor predictions, std::span<const float> targets,
                          ConstTensor losses_gradient, Tensor predictions_gradient, Write write) {
  ENSURE(std::ssize(targets) == predictions.elements());
  ENSURE(predictions.shape == predictions_gradient.shape);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const float difference = predictions.data[i] - targets[i];
    const float below = difference > delta ? delta : difference;  // NaN stays
    const float clipped = below < -delta ? -delta : below;
    put(predictions_gradient.data[i], losses_gradient.data[i] * clipped, write);
  }
}

void absolute_error(ConstTensor predictions, std::span<const float> targets, Tensor errors) {
  ENSURE(std::ssize(targets) == predictions.elements() && std::ssize(targets) == errors.elements());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    errors.data[i] = std::fabs(predictions.data[i] - targets[i]);
  }
}

void match_labels(ConstTensor logits, std::span<const std::int32_t> labels, Tensor matches) {
  ENSURE(std::ssize(labels) == logits.shape.rows() && std::ssize(labels) == matches.elements());
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto values = row_of(logits, row);
    const auto best = std::ranges::max_element(values) - values.begin();
    matches.data[row] = best == labels[row] ? 1.0F : 0.0F;
  }
}

void match_top_labels(std::int64_t k, ConstTensor logits, std::span<const std::int32_t> labels,
                      Tensor matches) {
  ENSURE(std::ssize(labels) == logits.shape.rows() && std::ssize(labels) == matches.elements());
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto values = row_of(logits, row);
    const auto label = static_cast<std::size_t>(labels[row]);
    const float own = values[label];
    const auto lower = values.first(label);
    const auto before = std::ranges::count_if(values, [&](float value) { return value > own; }) +
                        std::ranges::count(lower, own);
    matches.data[row] = before < k && !std::isnan(own) ? 1.0F : 0.0F;
  }
}

void match_binary_labels(ConstTensor logits, std::span<const std::int32_t> labels, Tensor matches) {
  ENSURE(std::ssize(labels) == logits.elements() && std::ssize(labels) == matches.elements());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const bool right = labels[i] == 1 ? logits.data[i] > 0.0F : logits.data[i] <= 0.0F;
    matches.data[i] = right ? 1.0F : 0.0F;
  }
}

}  // namespace trainyard::runtime
