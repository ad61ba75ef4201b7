// The checkpoint files of one task: its shard of each step, and which of them stay.
#pragma once

#include "runtime/net/chunks/snapshot_writer.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/task.h"

namespace trainyard::runtime {

// Whether checkpoints are of a version that nobody pulls, a cut or one that others have left
// behind, and are to be tested all the same: then the chief reads them back. Not with an embedding
// table.
bool reads_back(const JobSpec& spec, const JobPlan& plan);

// How the snapshots of share `index` become files in the task's folder: each is announced as a
// ShardEvent once it is durable. `task` and `plan` must outlive what is returned.
// With an embedding table `rows_of` gives the share's rows of a snapshot, unless they are in it.
using RowsOf = std::function<Result<RowTables>(std::int64_t snapshot)>;
SnapshotFiles shard_files(const Task& task, const JobPlan& plan, std::size_t index,
                          RowsOf rows_of = nullptr);

// Deletes the checkpoint folders of all steps but these and later ones, which may be under way, as
// far as they lie in the task's own folder. Only by hand (TaskContext::keep_files): an agent looks
// after its tasks' files itself.
void keep_only_steps(const TaskContext& context, const std::vector<std::int64_t>& steps);

// How many checkpoints have lain in the task's own folder for a minute: its agent takes away those
// that are delivered, but for the newest two. A fast job has some on their way at any time; those
// that are old are there because the server is away. 0 by hand: nothing is delivered.
std::int64_t undelivered_checkpoints(const TaskContext& context);

}  // namespace trainyard::runtime
