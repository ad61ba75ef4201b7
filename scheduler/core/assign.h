// What an agent should have now, as the assignment that is sent to it.
#pragma once

#include "scheduler/core/state.h"

namespace trainyard::scheduler {

// Answers the newest report of the agent that was taken.
Assignment assignment_for(const State& state, const LiveAgent& agent);

// The addresses of all tasks of the attempt, by role and index.
ClusterSpec addresses_of(const std::vector<LiveTask>& tasks);

}  // namespace trainyard::scheduler
