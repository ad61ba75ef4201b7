// Ranges and variables are both ascending, but few: a plain double loop with an early end.
#include "runtime/core/arena_layout.h"

#include <algorithm>

#include "schemas/base/check.h"

namespace trainyard::runtime {

std::vector<VariablePart> parts_of(std::span<const Variable> variables, const Share& share) {
  std::vector<VariablePart> parts;
  std::int64_t in_share = 0;
  for (const Range& range : share.ranges) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const Variable& variable = variables[i];
      if (variable.offset >= range.end) break;
      const std::int64_t begin = std::max(range.begin, variable.offset);
      const std::int64_t end = std::min(range.end, variable.offset + variable.elements);
      if (begin >= end) continue;
      parts.push_back({.variable = i,
                       .begin = begin - variable.offset,
                       .end = end - variable.offset,
                       .in_share = in_share + begin - range.begin});
    }
    in_share += range.size();
  }
  return parts;
}

std::vector<Range> gaps_of(std::span<const Variable> variables, std::int64_t arena_elements) {
  std::vector<Range> gaps;
  std::int64_t at = 0;
  const auto up_to = [&](std::int64_t begin) {
    if (at < begin) gaps.push_back({at, begin});
  };
  for (const Variable& variable : variables) {
    if (variable.update == UpdateRule::none) continue;
    up_to(variable.offset);
    at = variable.offset + variable.elements;
  }
  up_to(arena_elements);
  return gaps;
}

std::int64_t state_begin_of(std::span<const Variable> variables) {
  const auto is_state = [](const Variable& variable) {
    return variable.update == UpdateRule::running_average;
  };
  const auto first = std::ranges::find_if(variables, is_state);
  if (first == variables.end()) return no_state;
  ENSURE(first->offset % chunk_block == 0);
  ENSURE(std::all_of(first, variables.end(), is_state));
  return first->offset;
}

}  // namespace trainyard::runtime
