// Where the variables lie in the arena, and which parts of them a share holds: what checkpoints are
// written by.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/arena_chunks.h"
#include "runtime/core/chunk_plan.h"
#include "runtime/core/variable.h"

namespace trainyard::runtime {

// A run of elements of one variable that a share holds.
struct VariablePart {
  std::size_t variable = 0;  // position in the layout
  std::int64_t begin = 0;    // elements of the flattened variable
  std::int64_t end = 0;
  std::int64_t in_share = 0;  // position of `begin` in the share's ranges laid one after another
  bool operator==(const VariablePart&) const = default;
};

// In the order of the arena. Padding between variables is in no part.
std::vector<VariablePart> parts_of(std::span<const Variable> variables, const Share& share);

// The elements of the arena that are zero in every gradient, ascending: padding, which no variable
// has, and frozen variables.
std::vector<Range> gaps_of(std::span<const Variable> variables, std::int64_t arena_elements);

// Where the running averages begin, which come last in the arena: a multiple of chunk_block.
// no_state: there are none.
std::int64_t state_begin_of(std::span<const Variable> variables);

}  // namespace trainyard::runtime
