// Optimizers as pure updates over spans: new weights out of old weights, a gradient and slots. In
// order of complexity: sgd, momentum, nesterov, adagrad, rmsprop, adadelta, adam, adamw. Formulas
// and defaults are PyTorch's, so that its numbers can be the reference (tests/golden).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/math/elements/optimizer.h"

namespace trainyard::runtime {

enum class OptimizerKind { sgd, momentum, nesterov, adagrad, rmsprop, adadelta, adam, adamw };

struct OptimizerConfig {
  OptimizerKind kind = OptimizerKind::sgd;
  float momentum = 0.9F;
  float rho = 0.9F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
  float weight_decay = 0.0F;
};

// Names of the slots that this optimizer keeps per parameter: {}, {"momentum"}, {"m", "v"}...
std::span<const std::string_view> slot_names(OptimizerKind kind);

// How one element changes in a step. step: counts from 1; adam's bias correction.
using ElementRule = std::variant<SgdRule, MomentumRule, NesterovRule, AdagradRule, RmspropRule,
                                 AdadeltaRule, AdamRule, AverageRule>;
ElementRule element_rule(const OptimizerConfig& config, double learning_rate, std::int64_t step);
// What the gradient has of the weight; adamw's decay is its rule's.
float added_decay(const OptimizerConfig& config);

// One update of a range of the arena. All spans have one length; `out` may be `weights` itself.
// slots[i] is the range of slot_names(kind)[i], zero before the first step (adagrad too).
// Elementwise: a result never depends on how the arena is cut.
//   step           counts from 1; adam's bias correction
//   gradient_scale the mean's factor: every gradient element is multiplied by it first
void apply_update(const OptimizerConfig& config, double learning_rate, std::int64_t step,
                  float gradient_scale, std::span<const float> gradient,
                  std::span<const float> weights, std::span<float> out,
                  std::span<const std::span<float>> slots);

}  // namespace trainyard::runtime
