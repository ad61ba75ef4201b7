// Room is lent as floats (graph/kernels.h); some of the CPU's kernels keep other things there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// As many elements as hold so many bytes.
inline std::int64_t elements_for(std::size_t bytes) {
  return static_cast<std::int64_t>((bytes + sizeof(float) - 1) / sizeof(float));
}

inline std::span<std::byte> bytes_of(const Tensor& room) {
  return std::as_writable_bytes(room.span());
}

}  // namespace trainyard::runtime
