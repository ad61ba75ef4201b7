#include "runtime/net/shared_buffers.h"

#include <utility>

namespace trainyard::runtime {

AlignedBuffer SharedBuffers::make(std::size_t elements) {
  auto floats = SharedFloats::create(elements);
  if (!floats.has_value()) return AlignedBuffer(elements);
  AlignedBuffer buffer = floats->buffer();
  const auto number = static_cast<std::int64_t>(made_.size()) + 1;
  made_.emplace(buffer.data(), std::pair(number, *std::move(floats)));
  return buffer;
}

std::optional<SharedBuffers::Place> SharedBuffers::find(const AlignedBuffer& buffer) const {
  const auto found = made_.find(buffer.data());
  if (found == made_.end()) return std::nullopt;
  return Place{found->second.first, found->second.second.descriptor()};
}

}  // namespace trainyard::runtime
