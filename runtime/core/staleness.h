// How stale updates of asynchronous training were, counted by range; and what an update counts for
// that is stale.
#pragma once

#include <array>
#include <cstdint>

#include "schemas/types/job_spec.h"
#include "schemas/types/staleness.h"

namespace trainyard::runtime {

class StalenessCounts {
 public:
  using Updates = std::array<std::int64_t, staleness_ranges.size()>;  // by range

  StalenessCounts() = default;
  // As another process counted them; what is below 0 reads as 0.
  StalenessCounts(const Updates& updates, std::int64_t largest);

  void add(std::int64_t staleness);
  StalenessCounts& operator+=(const StalenessCounts& more);

  [[nodiscard]] const Updates& updates() const { return updates_; }
  [[nodiscard]] std::int64_t total() const;
  [[nodiscard]] std::int64_t largest() const { return largest_; }
  // At least the part `share` of all updates were no staler than this: exact up to 3, then the end
  // of the range, or the largest where that is less. 0 where there are none.
  [[nodiscard]] std::int64_t quantile(double share) const;
  bool operator==(const StalenessCounts&) const = default;

 private:
  Updates updates_{};
  std::int64_t largest_ = 0;
};

// What the learning rate of an update is multiplied by. inverse: 1 / (1 + staleness), so that a
// fresh one counts in full. (W. Zhang et al., Staleness-aware Async-SGD for Distributed Deep
// Learning, IJCAI 2016, which divides by the staleness where it is not 0.)
double staleness_factor(StalenessScaling scaling, std::int64_t staleness);

}  // namespace trainyard::runtime
