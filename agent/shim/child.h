// The task's own process: started in a session and group of its own, and killed by the kernel when
// its shim is gone.
#pragma once

#include "agent/process/task_records.h"
#include "schemas/base/result.h"

namespace trainyard::agent {

// `argv` ends with a null pointer; the first is the program's path. The process is written down
// before it runs. `invalid` where the program cannot be executed.
Result<ProcessName> start_child(char* const* argv, const TaskRecords& records);

}  // namespace trainyard::agent
