// What a parameter server tells the chief of the gradients in its updates: what workers have told
// of each, added up once it is applied.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/core/batch_sums.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

class AppliedSums {
 public:
  explicit AppliedSums(std::int64_t ranks) : told_(index_of(ranks)) {}

  // Of a step that is not applied yet, perhaps told again.
  void tell(std::int64_t rank, std::int64_t step, const BatchSums& sums) {
    told_.at(index_of(rank))[index_of(step % 2)] = {step, sums};
  }
  // What was not told of, or is long past, counts for nothing.
  void apply(std::int64_t rank, std::int64_t step, std::int64_t staleness) {
    Told& told = told_.at(index_of(rank))[index_of(step % 2)];
    if (told.step != step) return;
    told.step = 0;
    told.sums.staleness = staleness;
    told.sums.stale = {};
    told.sums.stale.add(staleness);
    unseen_ += told.sums;
  }
  // What was applied since the last call.
  [[nodiscard]] bool has_any() const { return unseen_.examples > 0; }
  BatchSums take() { return std::exchange(unseen_, {}); }

 private:
  struct Told {
    std::int64_t step = 0;  // 0: nothing
    BatchSums sums;
  };
  // By rank, of its newest steps: it may tell of the next before the last is applied.
  std::vector<std::array<Told, 2>> told_;
  BatchSums unseen_;
};

}  // namespace trainyard::runtime
