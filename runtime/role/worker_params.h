// How a worker reaches the parameters, and what of a step's gradient it sends there.
#pragma once

#include <memory>
#include <vector>

#include "runtime/core/reduction_tree.h"
#include "runtime/net/params_channel.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/task.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// The nodes of the reduction tree that this task sends, and their leaves.
std::vector<Leaves> own_nodes(const Task& task, const JobPlan& plan);
Leaves own_leaves(const Task& task, const JobPlan& plan);

// In its own process (`strategy: local`), or on the job's ps once all of them are there. The error
// names the ps that did not come or the file that cannot be restored; task.cause has the reason.
Result<std::unique_ptr<ParamsChannel>> open_params(const Task& task, const JobPlan& plan);

}  // namespace trainyard::runtime
