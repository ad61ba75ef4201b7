// FNV-1a of 64 bits (Fowler, Noll and Vo): quick, and the same everywhere. It keeps nobody out who
// looks for two texts with the same number.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard::runtime {

constexpr std::uint64_t fnv_hash(std::string_view bytes) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 0x100000001B3;
  return hash;
}

}  // namespace trainyard::runtime
