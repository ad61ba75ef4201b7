// The table checkpoints: manifests that were announced, and what became of them.
#pragma once

#include <vector>

#include "scheduler/store/db.h"
#include "schemas/types/checkpoint.h"

namespace trainyard::scheduler {

Status save_checkpoint(Db& db, const Checkpoint& checkpoint);

enum class Which { committed, kept, deleted };  // kept: committed and pending ones
Result<std::vector<Checkpoint>> read_checkpoints(Db& db, const JobId& job, Which which);  // by step

}  // namespace trainyard::scheduler
