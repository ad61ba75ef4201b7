// Each rule is one loop over the range: every element is read, updated and written once, in plain
// IEEE operations, so that vectorised and scalar parts of a loop give the same bits.
#include "runtime/math/optim/optimizer.h"

#include <array>
#include <cmath>
#include <cstddef>

#include "runtime/core/portable_math.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::array<std::string_view, 1> momentum_slots{"momentum"};
constexpr std::array<std::string_view, 1> adagrad_slots{"sum"};
constexpr std::array<std::string_view, 1> rmsprop_slots{"square_average"};
constexpr std::array<std::string_view, 2> adadelta_slots{"square_average", "delta_average"};
constexpr std::array<std::string_view, 2> adam_slots{"m", "v"};

// The arguments of apply_update, narrowed to what a loop reads.
struct Range {
  std::size_t size;
  const float* gradient;
  const float* weights;
  float* out;
  std::array<float*, 2> slots;
  float gradient_scale;
  float weight_decay;
};

// The gradient as the rule sees it: the mean, with the decay added to it.
inline float gradient_at(const Range& range, std::size_t i) {
  return range.gradient[i] * range.gradient_scale + range.weight_decay * range.weights[i];
}

// No iteration depends on another, although `out` may be `weights`: that is what ivdep tells the
// compiler.
void sgd(const Range range, float rate) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < range.size; ++i) {
    range.out[i] = range.weights[i] - rate * gradient_at(range, i);
  }
}

// Polyak 1964.
void momentum(const Range range, float rate, float decay) {
  float* const velocity = range.slots[0];
#pragma GCC ivdep
  for (std::size_t i = 0; i < range.size; ++i) {
    const float v = decay * velocity[i] + gradient_at(range, i);
    velocity[i] = v;
    range.out[i] = range.weights[i] - rate * v;
  }
}

// Nesterov 1983, in the form of Sutskever et al. 2013.
void nesterov(const Range range, float rate, float decay) {
  float* const velocity = range.slots[0];
#pragma GCC ivdep
  for (std::size_t i = 0; i < range.size; ++i) {
    const float g = gradient_at(range, i);
    const float v = decay * velocity[i] + g;
    velocity[i] = v;
    range.out[i] = range.weights[i] - rate * (g + decay * v);
  }
}

// Duchi, Hazan and Singer 2011.
void adagrad(const Range range, float rate, float epsilon) {
  float* const sum = range.slots[0];
#pragma GCC ivdep
  for (std::size_t i = 0; i < range.size; ++i) {
    const float g = gradient_at(range, i);
    const float s = sum[i] + g * g;
    sum[i] = s;
    range.out[i] = range.weights[i] - rate * (g / (std::sqrt(s) + epsilon));
  }
}

// Tieleman and Hinton 2012.
void rmsprop(const Range range, float rate, float rho, float epsilon) {
  float* const average = range.slots[0];
  const float share = 1.0F - rho;
#pragma GCC ivdep
  for (std::size_t i = 0; i < range.size; ++i) {
    const float g = gradient_at(range, i);
    const float a = rho * average[i] + share * (g * g);
    average[i] = a;
    range.out[i] = range.weights[i] - rate * (g / (std::sqrt(a) + epsilon));
  }
}

// Zeiler 2012.
void adadelta(const Range range, float rate, float rho, float epsilon) {
  float* const average = range.slots[0];
  float* const deltas = range.slots[1];
  const float share = 1.0F - rho;
#pragma GCC ivdep
  for (std::size_t i = 0; i < range.size; ++i) {
    const float g = gradient_at(range, i);
    const float a = rho * average[i] + share * (g * g);
    const float delta = std::sqrt(deltas[i] + epsilon) / std::sqrt(a + epsilon) * g;
    average[i] = a;
    deltas[i] = rho * deltas[i] + share * (delta * delta);
    range.out[i] = range.weights[i] - rate * delta;
  }
}

struct AdamFactors {
  float beta1;
  float beta2;
  float epsilon;
  float step_size;      // learning rate / (1 - beta1^step)
  float second_moment;  // 1 / sqrt(1 - beta2^step)
  float keep;           // adamw's decoupled decay: 1 - learning rate * weight decay; adam: 1
};

AdamFactors adam_factors(const OptimizerConfig& config, double learning_rate, std::int64_t step) {
  const double correction1 = 1.0 - integer_power(static_cast<double>(config.beta1), step);
  const double correction2 = 1.0 - integer_power(static_cast<double>(config.beta2), step);
  const bool decoupled = config.kind == OptimizerKind::adamw;
  const double decay = decoupled ? learning_rate * static_cast<double>(config.weight_decay) : 0.0;
  return {.beta1 = config.beta1,
          .beta2 = config.beta2,
          .epsilon = config.epsilon,
          .step_size = static_cast<float>(learning_rate / correction1),
          .second_moment = static_cast<float>(1.0 / std::sqrt(correction2)),
          .keep = static_cast<float>(1.0 - decay)};
}

// Kingma and Ba 2015; with `keep` below 1: Loshchilov and Hutter 2019.
void adam(const Range range, const AdamFactors factors) {
  float* const first = range.slots[0];
  float* const second = range.slots[1];
  const float share1 = 1.0F - factors.beta1;
  const float share2 = 1.0F - factors.beta2;
#pragma GCC ivdep
  for (std::size_t i = 0; i < range.size; ++i) {
    const float g = gradient_at(range, i);
    const float m = factors.beta1 * first[i] + share1 * g;
    const float v = factors.beta2 * second[i] + share2 * (g * g);
    first[i] = m;
    second[i] = v;
    const float scale = std::sqrt(v) * factors.second_moment + factors.epsilon;
    range.out[i] = factors.keep * range.weights[i] - factors.step_size * (m / scale);
  }
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

void apply_update(const OptimizerConfig& config, double learning_rate, std::int64_t step,
                  float gradient_scale, std::span<const float> gradient,
                  std::span<const float> weights, std::span<float> out,
                  std::span<const std::span<float>> slots) {
  ENSURE(step >= 1);
  ENSURE(gradient.size() == out.size() && weights.size() == out.size());
  ENSURE(slots.size() == slot_names(config.kind).size());
  Range range{.size = out.size(),
              .gradient = gradient.data(),
              .weights = weights.data(),
              .out = out.data(),
              .slots = {},
              .gradient_scale = gradient_scale,
              .weight_decay = config.kind == OptimizerKind::adamw ? 0.0F : config.weight_decay};
  for (std::size_t slot = 0; slot < slots.size(); ++slot) {
    ENSURE(slots[slot].size() == out.size());
    range.slots[slot] = slots[slot].data();
  }
  const auto rate = static_cast<float>(learning_rate);
  switch (config.kind) {
    case OptimizerKind::sgd: return sgd(range, rate);
    case OptimizerKind::momentum: return momentum(range, rate, config.momentum);
    case OptimizerKind::nesterov: return nesterov(range, rate, config.momentum);
    case OptimizerKind::adagrad: return adagrad(range, rate, config.epsilon);
    case OptimizerKind::rmsprop: return rmsprop(range, rate, config.rho, config.epsilon);
    case OptimizerKind::adadelta: return adadelta(range, rate, config.rho, config.epsilon);
    case OptimizerKind::adam:
    case OptimizerKind::adamw: return adam(range, adam_factors(config, learning_rate, step));
  }
}

}  // namespace trainyard::runtime
