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
  UpdatedArrays arrays;

  TRAINYARD_BOTH void operator()(std::int64_t i) const { update_element(rule, arrays, i); }
};

template <class Grid>
void update_on(Grid& grid, const ElementUpdate& update) {
  std::visit(
      [&](const auto& rule) {
        using Rule = std::decay_t<decltype(rule)>;
        grid.each(update.count, UpdateOfElement<Rule>{.rule = rule, .arrays = update.arrays});
      },
      update.rule);
}

}  // namespace trainyard::runtime
