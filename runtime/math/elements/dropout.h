// What dropout (math/ops/dropout.h) multiplies an element by.
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/core/counter_rng.h"
#include "runtime/math/elements/philox.h"

namespace trainyard::runtime {

// A word of rate * 2^32 or more: so is every whole number from the next one on.
inline std::uint64_t dropout_threshold(double rate) {
  return static_cast<std::uint64_t>(std::ceil(rate * 0x1p32));
}

// Of what is kept.
inline float dropout_factor(double rate) { return static_cast<float>(1.0 / (1.0 - rate)); }

// The words of elements 4 * block to 4 * block + 3 of the endless line of elements.
TRAINYARD_BOTH inline PhiloxWords dropout_words(std::uint64_t seed, std::uint32_t layer,
                                                std::uint64_t block) {
  return philox_words({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                       static_cast<std::uint32_t>(RngStream::dropout), layer},
                      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

TRAINYARD_BOTH inline float factor_of_word(std::uint32_t word, std::uint64_t threshold,
                                           float factor) {
  return word >= threshold ? factor : 0.0F;
}

// Of element `number`: `factor` where it is kept, else 0. Whoever needs four neighbours asks for
// their words at once.
TRAINYARD_BOTH inline float dropout_factor_at(std::uint64_t seed, std::uint32_t layer,
                                              std::uint64_t threshold, float factor,
                                              std::uint64_t number) {
  const PhiloxWords words = dropout_words(seed, layer, number / 4);
  return factor_of_word(word_of(words, static_cast<int>(number % 4)), threshold, factor);
}

}  // namespace trainyard::runtime
