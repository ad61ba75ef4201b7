// Philox4x32-10 (core/counter_rng.h); a CPU has eight at a time, too (ops/cpu/philox_lanes.h).
#pragma once

#include <cstdint>

#include "runtime/math/elements/both.h"

namespace trainyard::runtime {

// Four words: a counter, or the random bits that it is mapped to.
struct PhiloxWords {
  std::uint32_t a;
  std::uint32_t b;
  std::uint32_t c;
  std::uint32_t d;
};

// Without an array: a GPU has no registers for what is indexed by a variable.
TRAINYARD_BOTH inline std::uint32_t word_of(const PhiloxWords& words, int place) {
  const std::uint32_t first = place == 0 ? words.a : words.b;
  const std::uint32_t last = place == 2 ? words.c : words.d;
  return place < 2 ? first : last;
}

TRAINYARD_BOTH inline PhiloxWords philox_words(PhiloxWords counter, std::uint32_t key_low,
                                               std::uint32_t key_high) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{0xD2511F53} * counter.a;
    const std::uint64_t right = std::uint64_t{0xCD9E8D57} * counter.c;
    counter = {static_cast<std::uint32_t>(right >> 32) ^ counter.b ^ key_low,
               static_cast<std::uint32_t>(right),
               static_cast<std::uint32_t>(left >> 32) ^ counter.d ^ key_high,
               static_cast<std::uint32_t>(left)};
    key_low += 0x9E3779B9;  // the golden ratio and sqrt(3) - 1: the paper's Weyl constants
    key_high += 0xBB67AE85;
  }
  return counter;
}

}  // namespace trainyard::runtime
