// The answers of explain.h, made from the state.
#pragma once

#include "scheduler/core/explain.h"
#include "scheduler/core/lifecycle.h"
#include "scheduler/core/state.h"

namespace trainyard::scheduler {

// Where the gang would land now, if it were alone in the queue. It has faults when agents are known
// and all of them together could not hold it even if they were empty.
Plan plan_for(const State& state, const JobSpec& spec);

Explanation explain_job(const State& state, const LiveJob& job, const Now& now);

}  // namespace trainyard::scheduler
