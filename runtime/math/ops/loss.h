// Losses of a batch, one number per example, and what else is asked of predictions: whether the
// most likely class is the right one, how far off they are.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// losses [examples] = -log softmax(logits [examples, classes]) at the example's label (0 .. classes
// - 1). probabilities [examples, classes] receives the softmax, which the gradient needs. With
// label smoothing s (Szegedy and others 2016) it is 1 - s times that plus s times the mean of the
// same over all classes.
void softmax_cross_entropy(ConstTensor logits, std::span<const std::int32_t> labels, Tensor losses,
                           Tensor probabilities, float label_smoothing = 0);

// logits_gradient = losses_gradient [examples] * (probabilities - s / classes - 1 - s at the label)
void softmax_cross_entropy_gradient(ConstTensor probabilities, std::span<const std::int32_t> labels,
                                    ConstTensor losses_gradient, Tensor logits_gradient,
                                    Write write, float label_smoothing = 0);

// losses [examples] = -log of the probability that sigmoid(logits [examples, 1]) gives to the
// example's label (0 or 1). Finite for every finite logit. With label smoothing s it is 1 - s / 2
// times that plus s / 2 times the same of the other label.
void sigmoid_cross_entropy(ConstTensor logits, std::span<const std::int32_t> labels, Tensor losses,
                           float label_smoothing = 0);

// logits_gradient = losses_gradient * (sigmoid(logits) - labels), these smoothed to s / 2 and 1 - s
// / 2
void sigmoid_cross_entropy_gradient(ConstTensor logits, std::span<const std::int32_t> labels,
                                    ConstTensor losses_gradient, Tensor logits_gradient,
                                    Write write, float label_smoothing = 0);

// losses [examples] = (predictions [examples, 1] - targets)^2: the mean over a batch is the mean
// squared error.
void squared_error(ConstTensor predictions, std::span<const float> targets, Tensor losses);

// predictions_gradient = losses_gradient * 2 (predictions - targets)
void squared_error_gradient(ConstTensor predictions, std::span<const float> targets,
                            ConstTensor losses_gradient, Tensor predictions_gradient, Write write);

// losses [examples] = d^2 / 2 where d = |prediction - target| is delta or less, and delta * (d -
// delta / 2) beyond (Huber 1964).
void huber_error(float delta, ConstTensor predictions, std::span<const float> targets,
                 Tensor losses);

// predictions_gradient = losses_gradient * (predictions - targets, clipped to -delta .. delta)
void huber_error_gradient(float delta, ConstTensor predictions, std::span<const float> targets,
                          ConstTensor losses_gradient, Tensor predictions_gradient, Write write);

// errors [examples] = |predictions [examples, 1] - targets|
void absolute_error(ConstTensor predictions, std::span<const float> targets, Tensor errors);

// matches [examples] = 1 where the largest logit (the first, of equal ones) is the label's, else 0.
void match_labels(ConstTensor logits, std::span<const std::int32_t> labels, Tensor matches);

// matches [examples] = 1 where fewer than k classes come before the label's: those of larger
// logits, and of equal ones the lower. NaN comes before nothing, and matches nothing.
void match_top_labels(std::int64_t k, ConstTensor logits, std::span<const std::int32_t> labels,
                      Tensor matches);

// matches [examples] = 1 where the label (0 or 1) is 1 and the logit of [examples, 1] above zero,
// or neither, else 0; NaN matches nothing.
void match_binary_labels(ConstTensor logits, std::span<const std::int32_t> labels, Tensor matches);

}  // namespace trainyard::runtime
