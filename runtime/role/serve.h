// A task's share of the parameters, served: by a ps, and by every worker of an all-reduce.
#pragma once

#include <memory>

#include "runtime/net/chunks/chunk_server.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/task.h"

namespace trainyard::runtime {

// Listens when this returns. `plan` and `task` outlive the server. `index` is the share's.
Result<std::unique_ptr<ChunkServer>> open_share(const Task& task, const JobPlan& plan,
                                                std::size_t index);

// Where the shares are served, by index: "host:port".
std::vector<std::string> share_addresses(const TaskContext& context);

}  // namespace trainyard::runtime
