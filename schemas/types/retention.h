// Which checkpoint is the best, and which stay when a new one is committed: one rule for the chief,
// the server and the answers to users.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/types/job_spec.h"

namespace trainyard {

struct Ranked {
  std::int64_t step = 0;
  double metric = 0;  // at that step; NaN = not known. One that is not finite is never the best
};
// By the metric of this name, among all that were measured at the step.
Ranked ranked_by(const std::string& metric, std::int64_t step,
                 const std::map<std::string, double>& metrics);

enum class Best { lowest, highest };
// Losses and errors are best when low, all else (accuracy) when high.
Best best_of(std::string_view metric);

struct Retention {
  std::int64_t keep_latest = 1;  // at least one stays whatever this says
  std::int64_t keep_best = 0;
  Best best = Best::lowest;
};
Retention retention_of(const CheckpointSpec& spec);

// The steps that stay, ascending.
std::vector<std::int64_t> steps_to_keep(const Retention& retention,
                                        std::span<const Ranked> checkpoints);

// Of equally good ones the newest; nothing where no metric is known.
std::optional<std::int64_t> best_step(Best best, std::span<const Ranked> checkpoints);

}  // namespace trainyard
