// Positions in the order of the ids that stand there.
#pragma once

#include <cstdint>
#include <span>

namespace trainyard::runtime {

// An id of 0 or more in the upper half, its position in the lower.
constexpr std::uint64_t id_key(std::int32_t id, std::uint32_t position) {
  return static_cast<std::uint64_t>(id) << 32 | position;
}
constexpr std::int32_t id_of(std::uint64_t key) { return static_cast<std::int32_t>(key >> 32); }
constexpr std::uint32_t position_of(std::uint64_t key) { return static_cast<std::uint32_t>(key); }

// By ascending id, of one id in the order in which they stood. `spare` is as long as `keys` and
// apart from them. The answer lies in one of the two; the other is overwritten.
std::span<const std::uint64_t> sort_by_id(std::span<std::uint64_t> keys,
                                          std::span<std::uint64_t> spare);

}  // namespace trainyard::runtime
