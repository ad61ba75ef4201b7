// The tasks that an earlier start of this agent has left: what was wanted of each is written down
// in its folder before its process is started, and who finds it goes on from there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/host/workdir.h"
#include "agent/process/task_records.h"
#include "schemas/base/result.h"
#include "schemas/types/agent.h"

namespace trainyard::agent {

struct FoundTask {
  WantedTask wanted;
  ShimRecord shim;  // which may have ended
  std::int64_t pid = 0;
  bool was_told_to_save = false;
};

Status write_wanted(const std::string& folder, const WantedTask& wanted);

// Those that had begun, in this boot of the host. The others are left where they are.
std::vector<FoundTask> find_tasks(const Workdir& workdir);

}  // namespace trainyard::agent
