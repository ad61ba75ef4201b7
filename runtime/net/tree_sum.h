// The sum of a step's gradients, read stretch by stretch: never whole in memory. Parts are added in
// the order of the reduction tree, as they lie in the network's slices or in shared memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/net/wire_format.h"

namespace trainyard::runtime {

class TreeSum {
 public:
  // Floats that are read at once at most: 16 KiB, so that a sum's blocks stay in the cache.
  static constexpr std::size_t stretch = 4096;

  // parts[i] is the sum of node i of `order` (see addition_order), which outlives the sum. The
  // payloads do too, and hold equally many elements from where their readers stand.
  TreeSum(std::vector<GradientReader> parts, std::span<const std::int64_t> order);

  // The next room.size() floats of the sum, at most `stretch`: in `room`, or where they lie.
  std::span<const float> next(std::span<float> room);

 private:
  std::vector<GradientReader> parts_;
  std::span<const std::int64_t> order_;
  AlignedBuffer stack_;  // of blocks, but for the lowest, which is the caller's
  std::vector<std::span<const float>> sums_;  // those that wait to be added, in them or elsewhere
};

}  // namespace trainyard::runtime
