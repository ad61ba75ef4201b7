// A share of the arena whose weights and slots live elsewhere than in the host's memory and are
// updated there, part by part. The sum of a part's gradients goes there, its new weights come back;
// several parts may be under way, and come back in the order in which they went.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>

#include "runtime/math/optim/arena_update.h"

namespace trainyard::runtime {

// Where the share lives did not do what was asked of it: nothing of the share is of value any more.
class ShareFailed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ResidentShare {
 public:
  ResidentShare() = default;
  virtual ~ResidentShare() = default;
  ResidentShare(const ResidentShare&) = delete;
  ResidentShare& operator=(const ResidentShare&) = delete;

  struct Part {
    std::int64_t in_share = 0;  // its first element
    std::int64_t in_arena = 0;  // the same one
    std::int64_t count = 0;
  };
  // So many parts may be under way at once.
  [[nodiscard]] virtual std::size_t parts_max() const = 0;
  // Where the sum of the next part's gradients is written, which update() sends on its way.
  [[nodiscard]] virtual std::span<float> room(std::int64_t count) = 0;
  virtual void update(const Part& part, const UpdateStep& step) = 0;
  // The new weights of the part that has been under way longest, once they are there; of just its
  // length. Throws ShareFailed.
  virtual void take(std::span<float> weights) = 0;
  // A part's slots as they are while nothing is under way; one span for each. Throws ShareFailed.
  virtual void fetch_slots(const Part& part, std::span<const std::span<float>> slots) = 0;
};

}  // namespace trainyard::runtime
