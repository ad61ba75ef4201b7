// Each rule is one loop over the range: every element is read, updated and written once.
#include "runtime/math/optim/optimizer.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "runtime/core/portable_math.h"
#include "runtime/math/avx512.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::array<std::string_view, 1> momentum_slots{"momentum"};
constexpr std::array<std::string_view, 1> adagrad_slots{"sum"};
constexpr std::array<std::string_view, 1> rmsprop_slots{"square_average"};
constexpr std::array<std::string_view, 2> adadelta_slots{"square_average", "delta_average"};
constexpr std::array<std::string_view, 2> adam_slots{"m", "v"};

// No iteration depends on another, although `out` may be `weights`: that is what ivdep tells the
// compiler.
template <class Rule>
void update_all(const Rule rule, const UpdatedArrays arrays, std::int64_t count) {
  by_vectors([=] {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) update_element(rule, arrays, i);
  });
}

AdamRule adam_rule(const OptimizerConfig& config, double learning_rate, std::int64_t step) {
  const double correction1 = 1.0 - integer_power(static_cast<double>(config.beta1), step);
  const double correction2 = 1.0 - integer_power(static_cast<double>(config.beta2), step);
  const bool decoupled = config.kind == OptimizerKind::adamw;
  const double decay = decoupled ? learning_rate * static_cast<double>(config.weight_decay) : 0.0;
  return {.beta1 = config.beta1,
          .beta2 = config.beta2,
          .share1 = 1.0F - config.beta1,
          .share2 = 1.0F - config.beta2,
          .epsilon = config.epsilon,
          .step_size = static_cast<float>(learning_rate / correction1),
          .second_moment = static_cast<float>(1.0 / std::sqrt(correction2)),
          .keep = static_cast<float>(1.0 - decay)};
}

}  // namespace

std::span<const std::string_view> slot_names(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::sgd: return {};
    case OptimizerKind::momentum:
    case OptimizerKind::nesterov: return momentum_slots;
    case OptimizerKind::adagrad: return adagrad_slots;
    case OptimizerKind::rmsprop: return rmsprop_slots;
    case OptimizerKind::adadelta: return adadelta_slots;
    case OptimizerKind::adam:
    case OptimizerKind::adamw: return adam_slots;
  }
  return {};
}

ElementRule element_rule(const OptimizerConfig& config, double learning_rate, std::int64_t step) {
  ENSURE(step >= 1);
  const auto rate = static_cast<float>(learning_rate);
  const float share = 1.0F - config.rho;
  switch (config.kind) {
    case OptimizerKind::sgd: return SgdRule{.rate = rate};
    case OptimizerKind::momentum: return MomentumRule{.rate = rate, .decay = config.momentum};
    case OptimizerKind::nesterov: return NesterovRule{.rate = rate, .decay = config.momentum};
    case OptimizerKind::adagrad: return AdagradRule{.rate = rate, .epsilon = config.epsilon};
    case OptimizerKind::rmsprop:
      return RmspropRule{
          .rate = rate, .rho = config.rho, .share = share, .epsilon = config.epsilon};
    case OptimizerKind::adadelta:
      return AdadeltaRule{
          .rate = rate, .rho = config.rho, .share = share, .epsilon = config.epsilon};
    case OptimizerKind::adam:
    case OptimizerKind::adamw: break;
  }
  return adam_rule(config, learning_rate, step);
}

float added_decay(const OptimizerConfig& config) {
  return config.kind == OptimizerKind::adamw ? 0.0F : config.weight_decay;
}

void apply_update(const OptimizerConfig& config, double learning_rate, std::int64_t step,
                  float gradient_scale, std::span<const float> gradient,
                  std::span<const float> weights, std::span<float> out,
                  std::span<const std::span<float>> slots) {
  ENSURE(gradient.size() == out.size() && weights.size() == out.size());
  ENSURE(slots.size() == slot_names(config.kind).size());
  UpdatedArrays arrays{.gradient = gradient.data(),
                       .weights = weights.data(),
                       .out = out.data(),
                       .slots = {},
                       .scale = gradient_scale,
                       .decay = added_decay(config)};
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    ENSURE(slots[slot].size() == out.size());
    arrays.slots[slot] = slots[slot].data();
  }
  std::visit([&](const auto& rule) { update_all(rule, arrays, std::ssize(out)); },
             element_rule(config, learning_rate, step));
}

}  // namespace trainyard::runtime
