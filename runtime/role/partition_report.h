// What the chief tells people of the parameters' division.
#pragma once

#include <string>
#include <vector>

#include "runtime/role/job_plan.h"
#include "schemas/types/run_event.h"

namespace trainyard::runtime {

// `transports`: how this task reaches each holder; empty = it holds all itself.
PartitionEvent partition_report(const TaskContext& context, const JobPlan& plan,
                                const std::vector<std::string>& transports);

}  // namespace trainyard::runtime
