// Where the variables lie in the arena, and which parts of them a share holds: what checkpoints are
// written by.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/chunk_plan.h"

namespace trainyard::runtime {

struct ArenaVariable {
  std::string name;  // "dense_0/kernel"
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  // elements from the arena's start, ascending over the variables
  std::int64_t elements = 0;
};

// A run of elements of one variable that a share holds.
struct VariablePart {
  std::size_t variable = 0;  // position in the layout
  std::int64_t begin = 0;    // elements of the flattened variable
  std::int64_t end = 0;
  std::int64_t in_share = 0;  // position of `begin` in the share's ranges laid one after another
  bool operator==(const VariablePart&) const = default;
};

// In the order of the arena. Padding between variables is in no part.
std::vector<VariablePart> parts_of(std::span<const ArenaVariable> variables, const Share& share);

}  // namespace trainyard::runtime
