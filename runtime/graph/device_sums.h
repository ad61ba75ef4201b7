// Gradients that lie on a device, added there along the reduction tree: of a node's leaves the sum
// alone travels. The same additions in the same order as on a host: the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "runtime/graph/device_buffer.h"

namespace trainyard::runtime {

// A leaf's place in the node whose leaves are computed one after another.
struct LeafOfNode {
  bool is_first = true;
  bool is_last = true;
  std::int64_t ends = 0;  // how many nodes of the tree end with it: reduction_tree.h
};

class DeviceSums {
 public:
  explicit DeviceSums(Device& device, std::size_t elements)
      : device_(device), elements_(elements) {}

  // How many arenas reserve() would take more.
  [[nodiscard]] std::size_t needs(std::int64_t leaves) const;
  // Room for nodes of so many leaves. Throws DeviceFailed where there is too little memory.
  void reserve(std::int64_t leaves);

  // The whole gradient of a leaf that is not the last of its node.
  void add(const float* gradient, const LeafOfNode& leaf);
  // Of the last leaf, whose elements from `begin` on to `end` are final: the node's are, then. They
  // lie at total().
  void finish(const float* gradient, std::size_t begin, std::size_t end);
  [[nodiscard]] const float* total(const float* gradient);

 private:
  float* waiting(std::size_t number) { return buffers_[number].floats(elements_); }

  Device& device_;
  std::size_t elements_;
  std::deque<DeviceBuffer> buffers_;
  // So many of these are sums of left children, whose right ones are not whole yet: the node's own
  // first, and then downwards.
  std::size_t waiting_ = 0;
};

}  // namespace trainyard::runtime
