// The arithmetic of one updated element, by rule: the new weight out of the old one, the gradient
// as the rule sees it, and up to two slots, which become the new ones. Plain IEEE operations, so
// that vectorised and scalar parts of a loop, and the threads of a GPU, give the same bits.
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/math/elements/both.h"

namespace trainyard::runtime {

struct SgdRule {
  static constexpr int slots = 0;
  float rate;
  TRAINYARD_BOTH float next(float g, float weight, float&, float&) const {
    return weight - rate * g;
  }
};

// Polyak 1964.
struct MomentumRule {
  static constexpr int slots = 1;
  float rate, decay;
  TRAINYARD_BOTH float next(float g, float weight, float& velocity, float&) const {
    velocity = decay * velocity + g;
    return weight - rate * velocity;
  }
};

// Nesterov 1983, in the form of Sutskever et al. 2013.
struct NesterovRule {
  static constexpr int slots = 1;
  float rate, decay;
  TRAINYARD_BOTH float next(float g, float weight, float& velocity, float&) const {
    velocity = decay * velocity + g;
    return weight - rate * (g + decay * velocity);
  }
};

// Duchi, Hazan and Singer 2011.
struct AdagradRule {
  static constexpr int slots = 1;
  float rate, epsilon;
  TRAINYARD_BOTH float next(float g, float weight, float& sum, float&) const {
    sum = sum + g * g;
    return weight - rate * (g / (std::sqrt(sum) + epsilon));
  }
};

// Tieleman and Hinton 2012.
struct RmspropRule {
  static constexpr int slots = 1;
  float rate, rho, share, epsilon;
  TRAINYARD_BOTH float next(float g, float weight, float& average, float&) const {
    average = rho * average + share * (g * g);
    return weight - rate * (g / (std::sqrt(average) + epsilon));
  }
};

// Zeiler 2012.
struct AdadeltaRule {
  static constexpr int slots = 2;
  float rate, rho, share, epsilon;
  TRAINYARD_BOTH float next(float g, float weight, float& average, float& deltas) const {
    average = rho * average + share * (g * g);
    const float delta = std::sqrt(deltas + epsilon) / std::sqrt(average + epsilon) * g;
    deltas = rho * deltas + share * (delta * delta);
    return weight - rate * delta;
  }
};

// Kingma and Ba 2015; with `keep` below 1: Loshchilov and Hutter 2019.
struct AdamRule {
  static constexpr int slots = 2;
  float beta1, beta2, share1, share2, epsilon;
  float step_size;      // learning rate / (1 - beta1^step)
  float second_moment;  // 1 / sqrt(1 - beta2^step)
  float keep;           // adamw's decoupled decay: 1 - learning rate * weight decay; adam: 1
  TRAINYARD_BOTH float next(float g, float weight, float& first, float& second) const {
    first = beta1 * first + share1 * g;
    second = beta2 * second + share2 * (g * g);
    const float scale = std::sqrt(second) * second_moment + epsilon;
    return keep * weight - step_size * (first / scale);
  }
};

// A running average; what stands in its gradient's place, scaled, is the batch's.
struct AverageRule {
  static constexpr int slots = 0;
  float momentum;
  TRAINYARD_BOTH float next(float of_batch, float average, float&, float&) const {
    return average + momentum * (of_batch - average);
  }
};

// What a rule is given: the mean, with the decay added to it.
template <class Rule>
TRAINYARD_BOTH float seen_by(const Rule&, float sum, float scale, float decay, float weight) {
  return sum * scale + decay * weight;
}
TRAINYARD_BOTH inline float seen_by(const AverageRule&, float sum, float scale, float, float) {
  return sum * scale;
}

// Of which numbers; `out` may be `weights`, slots that a rule has not are null.
struct UpdatedArrays {
  const float* gradient;
  const float* weights;
  float* out;
  float* slots[2];
  float scale;  // of the gradient
  float decay;
};

template <class Rule>
TRAINYARD_BOTH void update_element(const Rule& rule, const UpdatedArrays& arrays, std::int64_t i) {
  const float weight = arrays.weights[i];
  const float g = seen_by(rule, arrays.gradient[i], arrays.scale, arrays.decay, weight);
  float a = 0;
  float b = 0;
  if constexpr (Rule::slots > 0) a = arrays.slots[0][i];
  if constexpr (Rule::slots > 1) b = arrays.slots[1][i];
  const float next = rule.next(g, weight, a, b);
  if constexpr (Rule::slots > 0) arrays.slots[0][i] = a;
  if constexpr (Rule::slots > 1) arrays.slots[1][i] = b;
  arrays.out[i] = next;
}

}  // namespace trainyard::runtime
