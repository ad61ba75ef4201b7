// Random numbers as a function of (seed, stream, position): no state to save, the same on every
// host. Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011).
#pragma once

#include <array>
#include <cstdint>

namespace trainyard::runtime {

// What a stream is for. Numbers are part of results: never change one.
enum class RngStream : std::uint32_t {
  initialize = 1,
  shuffle = 2,
  synthetic = 3,
  split = 4,
  dropout = 5,
  rows = 6,
  augment = 7
};

// The bijection itself: 128 bits of counter to 128 random bits.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key);

// Every number is a function of `position` alone; numbers of different kinds at one position are
// not independent.
class CounterRng {
 public:
  CounterRng(std::uint64_t seed, RngStream stream, std::uint32_t substream = 0);

  [[nodiscard]] std::array<std::uint32_t, 4> block(std::uint64_t position) const;
  [[nodiscard]] std::uint64_t bits(std::uint64_t position) const;  // 64 uniform bits
  [[nodiscard]] double uniform(std::uint64_t position) const;      // [0, 1), 53 bits
  [[nodiscard]] double normal(std::uint64_t position) const;       // N(0, 1), Box and Muller 1958

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t stream_;
  std::uint32_t substream_;
};

}  // namespace trainyard::runtime
