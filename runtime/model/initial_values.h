// The numbers that a variable starts with: a function of the seed, the same bytes on every host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schemas/model/analysis.h"

namespace trainyard::runtime {

// Variable number `index` of the arena, of this shape, into `values`. truncated_normal: a number
// that is further out than two scales is drawn again. orthogonal: of the rows of [all axes but the
// last, last axis], or of its columns where these are fewer, each is of length `scale` and at
// right angles to the others (Saxe, McClelland and Ganguli 2014).
void set_initial_values(const model::Start& start, std::uint64_t seed, std::uint32_t index,
                        std::span<const std::int64_t> shape, std::span<float> values);

}  // namespace trainyard::runtime
