// Which checkpoints stay when a new one is committed.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace trainyard::runtime {

struct KeptCheckpoint {
  std::int64_t step = 0;
  double metric =
      0;  // of the retention's metric at that step; NaN = not known, never among the best
};

struct Retention {
  std::int64_t keep_latest = 1;  // at least one stays whatever this says
  std::int64_t keep_best = 0;
  enum class Best { lowest, highest } best = Best::lowest;
};

// Losses and errors are best when low, all else (accuracy) when high.
Retention::Best best_of(std::string_view metric);

// The steps that stay, ascending.
std::vector<std::int64_t> steps_to_keep(const Retention& retention,
                                        std::span<const KeptCheckpoint> checkpoints);

}  // namespace trainyard::runtime
