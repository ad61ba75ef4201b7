// The tables tasks and agents: what runs where.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/store/db.h"
#include "schemas/types/agent.h"
#include "schemas/types/task.h"

namespace trainyard::scheduler {

Status save_task(Db& db, const TaskAttempt& task);
// Of one attempt, or of all of them; by attempt, role and index, behind `after`.
Result<std::vector<TaskAttempt>> read_tasks(Db& db, const JobId& job,
                                            std::optional<std::int64_t> attempt,
                                            const std::optional<TaskKey>& after = {},
                                            std::int64_t limit = INT64_MAX);

Status remove_agent(Db& db, const AgentId& agent);
Status save_agent(Db& db, const AgentRecord& agent);
Result<std::vector<AgentRecord>> read_agents(Db& db);  // by id

}  // namespace trainyard::scheduler
