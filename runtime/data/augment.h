// Training images changed by chance: what is drawn is a function of (seed, op, position) alone, so
// that an epoch differs from the last, and every worker, whatever its batches, draws the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/data/image.h"
#include "schemas/types/image_spec.h"

namespace trainyard::runtime {

class Augmentation {
 public:
  // The ops of `specs`, one after the other, on images of `shape`.
  Augmentation(std::vector<AugmentSpec> specs, const ImageShape& shape, std::uint64_t seed);

  [[nodiscard]] bool is_empty() const { return specs_.empty(); }

  // Changes an image of the shape, as it is at `position` of the line of training examples.
  void apply(std::uint64_t position, std::vector<std::uint8_t>& pixels) const;

 private:
  std::vector<AugmentSpec> specs_;
  ImageShape shape_;
  std::uint64_t seed_;
};

}  // namespace trainyard::runtime
