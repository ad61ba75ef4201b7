// Where gradients are clipped by their norm, what the chief makes of what ps tell it: each the sum
// of squares of its share of a step's gradient. It holds no socket; nothing of it has to be kept
// when the chief's process or a connection is another one, as ps say theirs again.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/exact_sum.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

class NormGathering {
 public:
  // Whether each ps has any parameters: the others tell nothing.
  explicit NormGathering(std::vector<bool> has_share) : has_share_(std::move(has_share)) {
    told_.resize(has_share_.size());
  }

  // Of the step that makes this version. The squares of all of it, where they are all there.
  std::optional<double> take(std::size_t ps, std::int64_t version, const ExactSum& squares) {
    told_.at(ps) = {version, squares};
    ExactSum all;
    for (std::size_t i = 0; i < told_.size(); ++i) {
      if (!has_share_[i]) continue;
      if (told_[i].version != version) return std::nullopt;
      all += told_[i].squares;
    }
    return all.value();
  }

 private:
  struct Told {
    std::int64_t version = 0;  // 0: nothing
    ExactSum squares = {};
  };
  std::vector<bool> has_share_;
  std::vector<Told> told_;  // by ps, the newest
};

}  // namespace trainyard::runtime
