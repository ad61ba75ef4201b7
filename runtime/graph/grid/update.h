// Updates of weights on a grid: an index is an element.
#pragma once

#include <type_traits>
#include <variant>

#include "runtime/graph/device.h"
#include "runtime/math/elements/optimizer.h"

namespace trainyard::runtime {

template <class Rule>
struct UpdateOfElement {
  Rule rule;
  float scale, decay;
  const float* gradient;
  float* weights;
  float* first;
  float* second;

  TRAINYARD_BOTH void operator()(std::int64_t i) const {
    const float weight = weights[i];
    float a = 0;
    float b = 0;
    if constexpr (Rule::slots > 0) a = first[i];
    if constexpr (Rule::slots > 1) b = second[i];
    weights[i] = rule.next(seen_by(rule, gradient[i], scale, decay, weight), weight, a, b);
    if constexpr (Rule::slots > 0) first[i] = a;
    if constexpr (Rule::slots > 1) second[i] = b;
  }
};

template <class Grid>
void update_on(Grid& grid, const ElementUpdate& update) {
  std::visit(
      [&](const auto& rule) {
        grid.each(update.count,
                  UpdateOfElement<std::decay_t<decltype(rule)>>{.rule = rule,
                                                                .scale = update.gradient_scale,
                                                                .decay = update.weight_decay,
                                                                .gradient = update.gradient,
                                                                .weights = update.weights,
                                                                .first = update.slots[0],
                                                                .second = update.slots[1]});
      },
      update.rule);
}

}  // namespace trainyard::runtime
