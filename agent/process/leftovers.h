// Ends what an earlier agent, or a shim that was killed, has left of a task.
#pragma once

#include <chrono>
#include <string>

#include "agent/process/task_records.h"
#include "schemas/base/result.h"

namespace trainyard::agent {

// Whether the group is gone that the process led, which worked in the folder; its members are
// killed otherwise, which takes them a moment. A pid that is another process's by now names no
// group.
bool is_group_gone(const std::string& folder, const ProcessName& leader);

// Asks the shim that is recorded in a task's folder to end its task, and waits for it.
Status end_recorded(const std::string& folder, std::chrono::steady_clock::time_point deadline);

}  // namespace trainyard::agent
