// What REST shows, as JSON (contract.md, OpenAPI): jobs with their status, tasks, agents,
// checkpoints.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "schemas/base/time.h"
#include "schemas/types/agent.h"
#include "schemas/types/checkpoint.h"
#include "schemas/types/job.h"
#include "schemas/types/task.h"

namespace trainyard {

// {"id", "version", "spec", "spec_hash", "status"}. `tasks`: at least those of the current attempt,
// for status.roles.
nlohmann::json job_to_json(const Job& job, const std::vector<TaskAttempt>& tasks);
nlohmann::json task_to_json(const TaskAttempt& task);
nlohmann::json checkpoint_to_json(const Checkpoint& checkpoint);
nlohmann::json time_to_json(WallTime time);   // null when not set
nlohmann::json number_to_json(double value);  // null for NaN and infinities

}  // namespace trainyard
