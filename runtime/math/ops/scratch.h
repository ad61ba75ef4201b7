// Cuts memory that a caller lends to a kernel into arrays. Sizes are worked out by the same cuts
// without memory, so that what is asked for is what is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "runtime/math/aligned_buffer.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

class Scratch {
 public:
  Scratch() = default;  // counts only: arrays have no memory
  // `memory` at a cache line's border; ENSUREs that it is enough.
  explicit Scratch(std::span<std::byte> memory) : memory_(memory), counts_only_(false) {
    ENSURE(reinterpret_cast<std::uintptr_t>(memory.data()) % alignment_bytes == 0);
  }

  // `count` values at a cache line's border, with whatever is in the memory.
  template <class T>
  std::span<T> take(std::int64_t count) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto values = static_cast<std::size_t>(count);
    const std::size_t at = used_;
    used_ += (values * sizeof(T) + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
    if (counts_only_) return {static_cast<T*>(nullptr), 0};
    ENSURE(used_ <= memory_.size());
    return {reinterpret_cast<T*>(memory_.data() + at), values};
  }

  [[nodiscard]] std::size_t used_bytes() const { return used_; }

 private:
  std::span<std::byte> memory_;
  std::size_t used_ = 0;
  bool counts_only_ = true;
};

}  // namespace trainyard::runtime
