// Panels for gemm: `width` values for each step of the depth, one step after another; what the
// matrix does not have is zero.
#pragma once

#include <cstdint>

namespace trainyard::runtime {

inline constexpr std::int64_t pack_lane = 8;    // floats that are moved at once
inline constexpr std::int64_t pack_slack = 16;  // floats that packing may write beyond a panel

// Where a panel's values lie: those of one step are `across` apart, steps `along`.
struct Strip {
  const float* from = nullptr;
  std::int64_t across = 0;
  std::int64_t along = 0;
  std::int64_t count = 0;  // values of a step that the matrix has; at most `width`
  std::int64_t depth = 0;
};

void pack(const Strip& strip, std::int64_t width, float* panel);

// `panels` panels beside each other, whose values of one step follow one another. `width`: of a
// whole tile; strip.across and strip.count do not matter.
void pack_rows(const Strip& strip, std::int64_t panels, std::int64_t width, float* first);

}  // namespace trainyard::runtime
