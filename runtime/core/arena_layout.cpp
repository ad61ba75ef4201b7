// Ranges and variables are both ascending, but few: a plain double loop with an early end.
#include "runtime/core/arena_layout.h"

#include <algorithm>

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

}  // namespace trainyard::runtime
