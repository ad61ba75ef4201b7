// The tensor part of a frame where it lies: pieces of foreign memory (gRPC's slices of at most 64
// KiB, or a range of an arena in this process) and whatever keeps them alive. Floats may straddle
// the borders of pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/core/chunk_plan.h"

namespace trainyard::runtime {

struct Payload {
  std::vector<std::span<const std::byte>> pieces;
  std::shared_ptr<const void> owner;  // may be empty where the caller outlives the payload

  [[nodiscard]] std::int64_t bytes() const;
};

// The ranges of an arena of this process.
Payload payload_of(std::span<const float> arena, const Share& share);
// The same of several arenas of `arena_elements` that lie one after another.
Payload payload_of(std::span<const float> arenas, std::int64_t arena_elements, const Share& share);

// Walks a payload once, from its first float to its last.
class PayloadReader {
 public:
  // From byte `begin` on.
  explicit PayloadReader(const Payload& payload, std::int64_t begin = 0);

  // Copies the next out.size() floats, or bytes; the payload must still hold so many.
  void read(std::span<float> out) { read_bytes(std::as_writable_bytes(out)); }
  void read_bytes(std::span<std::byte> out);
  // Passes the next `count` floats and shows them where they lie; passes none and shows nothing
  // where they are of several pieces, or nowhere that floats may be.
  std::span<const float> view(std::size_t count);

 private:
  void pass(std::size_t bytes);  // of the piece it is in

  const Payload* payload_;
  std::size_t piece_ = 0;
  std::size_t at_ = 0;  // bytes of that piece that were read
};

}  // namespace trainyard::runtime
