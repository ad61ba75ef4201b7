// The one source of chance in the simulation: everything follows from the seed.
#pragma once

#include <cstdint>

#include "schemas/base/time.h"

namespace trainyard::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed)
      : state_(seed * 0x9E3779B97F4A7C15ULL + 0x2545F4914F6CDD1DULL) {}

  // splitmix64 (Steele, Lea, Flood 2014).
  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
  }

  // Both ends included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(high - low + 1));
  }
  Millis millis(std::int64_t low, std::int64_t high) { return {between(low, high)}; }

  [[nodiscard]] bool chance(int percent) { return between(1, 100) <= percent; }

 private:
  std::uint64_t state_;
};

}  // namespace trainyard::sim
