// Results that are too large to be found in a core's cache when they are read: written past it,
// they leave room there, and what is only overwritten is not read from memory first.
#pragma once

#include <span>

namespace trainyard::runtime {

// Copies `from` to the beginning of `to`. Other threads may read it once this one has called
// settle_past_cache() and told them so.
void copy_past_cache(std::span<const float> from, std::span<float> to);
void settle_past_cache();

}  // namespace trainyard::runtime
