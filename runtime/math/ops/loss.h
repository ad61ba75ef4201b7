// Losses of a batch, one number per example, and whether the most likely class is the right one.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// losses [examples] = -log softmax(logits [examples, classes]) at the example's label (0 .. classes
// - 1). probabilities [examples, classes] receives the softmax, which the gradient needs.
void softmax_cross_entropy(ConstTensor logits, std::span<const std::int32_t> labels, Tensor losses,
                           Tensor probabilities);

// logits_gradient = losses_gradient [examples] * (probabilities - one at the label)
void softmax_cross_entropy_gradient(ConstTensor probabilities, std::span<const std::int32_t> labels,
                                    ConstTensor losses_gradient, Tensor logits_gradient,
                                    Write write);

// losses [examples] = -log of the probability that sigmoid(logits [examples, 1]) gives to the
// example's label (0 or 1). Finite for every finite logit.
void sigmoid_cross_entropy(ConstTensor logits, std::span<const std::int32_t> labels, Tensor losses);

// logits_gradient = losses_gradient * (sigmoid(logits) - labels)
void sigmoid_cross_entropy_gradient(ConstTensor logits, std::span<const std::int32_t> labels,
                                    ConstTensor losses_gradient, Tensor logits_gradient,
                                    Write write);

// losses [examples] = (predictions [examples, 1] - targets)^2: the mean over a batch is the mean
// squared error.
void squared_error(ConstTensor predictions, std::span<const float> targets, Tensor losses);

// predictions_gradient = losses_gradient * 2 (predictions - targets)
void squared_error_gradient(ConstTensor predictions, std::span<const float> targets,
                            ConstTensor losses_gradient, Tensor predictions_gradient, Write write);

// matches [examples] = 1 where the largest logit (the first, of equal ones) is the label's, else 0.
void match_labels(ConstTensor logits, std::span<const std::int32_t> labels, Tensor matches);

// matches [examples] = 1 where the label (0 or 1) is 1 and the logit of [examples, 1] above zero,
// or neither, else 0; NaN matches nothing.
void match_binary_labels(ConstTensor logits, std::span<const std::int32_t> labels, Tensor matches);

}  // namespace trainyard::runtime
