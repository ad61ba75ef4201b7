#include "runtime/graph/device_sums.h"

#include <bit>

#include "schemas/base/check.h"

namespace trainyard::runtime {

// As deep as the tree is.
std::size_t DeviceSums::needs(std::int64_t leaves) const {
  const auto depth =
      static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(leaves - 1)));
  return depth > buffers_.size() ? depth - buffers_.size() : 0;
}

// All of it or nothing: who is told that there is none uses none.
void DeviceSums::reserve(std::int64_t leaves) {
  try {
    for (std::size_t more = needs(leaves); more > 0; --more) {
      buffers_.emplace_back(device_).floats(elements_);
    }
  } catch (const DeviceFailed&) {
    buffers_.clear();
    throw;
  }
}

void DeviceSums::add(const float* gradient, const LeafOfNode& leaf) {
  if (leaf.is_first) waiting_ = 0;
  const float* right = gradient;
  for (std::int64_t i = 0; i < leaf.ends; ++i) {
    ENSURE(waiting_ > 0);
    float* const left = waiting(--waiting_);
    device_.add(left, right, elements_);
    right = left;
  }
  ENSURE(waiting_ < buffers_.size());
  float* const place = waiting(waiting_++);
  if (right != place) device_.copy(place, right, elements_);
}

void DeviceSums::finish(const float* gradient, std::size_t begin, std::size_t end) {
  const float* right = gradient;
  for (std::size_t i = waiting_; i > 0; --i) {
    device_.add(waiting(i - 1) + begin, right + begin, end - begin);
    right = waiting(i - 1);
  }
}

const float* DeviceSums::total(const float* gradient) {
  return waiting_ == 0 ? gradient : waiting(0);
}

}  // namespace trainyard::runtime
