// Sync with backup workers: a step is made of the gradients of some of the ranks, and ps 0 says
// which.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace trainyard::runtime {

// A step is made of the gradients of `aggregate` of `ranks` ranks.
struct StepMembers {
  std::int64_t ranks = 1;
  std::int64_t aggregate = 1;
};

struct NamedStep {
  std::int64_t step = 0;
  std::vector<std::int64_t> ranks;  // ascending; none: nothing was named since the ps began
  // The newest version, up to this one, that is to be a snapshot; 0: none since the ps began.
  std::int64_t snapshot = 0;
  [[nodiscard]] bool has(std::int64_t rank) const {
    return std::ranges::binary_search(ranks, rank);
  }
  bool operator==(const NamedStep&) const = default;
};

}  // namespace trainyard::runtime
