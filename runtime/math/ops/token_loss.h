// Softmax cross entropy of every token of a sequence.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

struct TokenLabels {
  std::span<const std::int32_t> labels;   // [examples, time]: classes
  std::span<const std::int32_t> lengths;  // [examples]; none: all examples are full
  float smoothing = 0;
};

// losses [examples] = the sum of softmax_cross_entropy (loss.h) of logits [examples, time, classes]
// over the tokens before the example's length; probabilities, of the logits' shape, receives the
// softmax there. `token_losses` is scratch [time].
void token_cross_entropy(ConstTensor logits, const TokenLabels& labels, Tensor losses,
                         Tensor probabilities, Tensor token_losses);

// The same of its gradient; zero beyond the lengths. `token_gradients` is scratch [time].
struct TokenGradient {
  ConstTensor probabilities;
  ConstTensor losses_gradient;
  Tensor token_gradients;
  Tensor logits_gradient;
  Write write = Write::overwrite;
};
void token_cross_entropy_gradient(const TokenLabels& labels, const TokenGradient& call);

// matches [examples] = of how many of those tokens the largest logit is the label's, as
// match_labels (loss.h) has it. `token_matches` is scratch [time].
void match_tokens(ConstTensor logits, const TokenLabels& labels, Tensor matches,
                  Tensor token_matches);

}  // namespace trainyard::runtime
