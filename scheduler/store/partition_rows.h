// The table partitions: how the parameters of a job's newest attempt are divided.
#pragma once

#include <optional>

#include "scheduler/core/events.h"
#include "scheduler/store/db.h"
#include "scheduler/store/reader.h"

namespace trainyard::scheduler {

// In place of that of an older attempt.
Status save_partition(Db& db, const SavePartition& change);

Result<std::optional<PartitionRow>> read_partition(Db& db, const JobId& job);

}  // namespace trainyard::scheduler
