// Levenshtein's distances on a grid: a block for each example, which takes the cells of one
// antidiagonal after another.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/ctc_texts.h"

namespace trainyard::runtime {

// In step n are the cells (place, i) with place + i = n: of the text's first `place` symbols to the
// first i of what was decoded.
struct EditDistanceBlock {
  static constexpr int threads = 256;
  static constexpr std::int64_t kept_diagonals = 3;

  struct Shared {
    int unused;
  };
  struct Thread {
    std::int64_t symbols;
    std::int64_t decoded;
  };

  CtcTexts texts;
  DecodedTexts decoded;
  std::int32_t* diagonals = nullptr;  // [examples, 3, time + 1], by i
  float* distances = nullptr;

  static std::int64_t elements(std::int64_t examples, std::int64_t time) {
    return examples * kept_diagonals * (time + 1);
  }

  [[nodiscard]] TRAINYARD_BOTH std::int64_t steps(std::int64_t example) const {
    return texts.symbol_count(example) + decoded.counts[example] + 1;
  }

  TRAINYARD_BOTH void step(std::int64_t example, std::int64_t n, int thread, Shared&,
                           Thread& kept) const {
    if (n == 0) {
      kept.symbols = texts.symbol_count(example);
      kept.decoded = decoded.counts[example];
    }
    const std::int32_t* const before = diagonal(example, n + 2);
    const std::int32_t* const two_before = diagonal(example, n + 1);
    std::int32_t* const to = diagonal(example, n);
    const std::int64_t first = n > kept.symbols ? n - kept.symbols : 0;
    const std::int64_t last = n < kept.decoded ? n : kept.decoded;
    for (std::int64_t i = first + thread; i <= last; i += threads) {
      const std::int64_t place = n - i;
      auto least = static_cast<std::int32_t>(n);
      if (place > 0 && i > 0) {
        const std::int32_t symbol = texts.symbols_of(example)[place - 1];
        const std::int32_t written = decoded.classes[example * texts.time + i - 1];
        least = two_before[i - 1] + (written == texts.class_of(symbol) ? 0 : 1);
        if (before[i - 1] + 1 < least) least = before[i - 1] + 1;
        if (before[i] + 1 < least) least = before[i] + 1;
      }
      to[i] = least;
      if (place == kept.symbols && i == kept.decoded) {
        distances[example] = static_cast<float>(least);
      }
    }
  }

 private:
  [[nodiscard]] TRAINYARD_BOTH std::int32_t* diagonal(std::int64_t example, std::int64_t n) const {
    return diagonals + (example * kept_diagonals + n % kept_diagonals) * (texts.time + 1);
  }
};

}  // namespace trainyard::runtime
