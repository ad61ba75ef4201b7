// Async training ends after so many updates, and every ps is to end with the same ones. So one ps
// of the gang says who may still push: a rank takes a turn for each push, and there are never more
// turns out than updates left to make. A turn comes back with the push, or when the rank is given
// up. Not as soon as it is away: where its push has reached other ps, one that took its turn would
// make an update too many there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard::runtime {

class Turns {
 public:
  Turns(std::int64_t ranks, std::int64_t max_steps)
      : has_(static_cast<std::size_t>(ranks)), max_steps_(max_steps) {}

  // True when the rank has a turn now: it had one, or there was one more at this version.
  bool take(std::size_t rank, std::int64_t version) {
    if (has_[rank]) return true;
    if (version + out_ >= max_steps_) return false;
    has_[rank] = true;
    ++out_;
    return true;
  }

  void give_back(std::size_t rank) {
    if (has_[rank]) --out_;
    has_[rank] = false;
  }

 private:
  std::vector<bool> has_;
  std::int64_t max_steps_;
  std::int64_t out_ = 0;
};

}  // namespace trainyard::runtime
