// The table checkpoints: manifests that were announced, and what became of them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "scheduler/store/db.h"
#include "schemas/types/checkpoint.h"

namespace trainyard::scheduler {

Status save_checkpoint(Db& db, const Checkpoint& checkpoint);

enum class Which { committed, kept, deleted };  // kept: committed and pending ones
// By step and attempt, those behind `after`.
Result<std::vector<Checkpoint>> read_checkpoints(Db& db, const JobId& job, Which which,
                                                 std::pair<std::int64_t, std::int64_t> after = {-1,
                                                                                                -1},
                                                 std::int64_t limit = INT64_MAX);

}  // namespace trainyard::scheduler
