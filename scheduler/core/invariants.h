// The core's beliefs about itself, executable: all of them in one place, looked at by tests after
// each step.
#pragma once

#include <string>
#include <vector>

#include "scheduler/core/state.h"

namespace trainyard::scheduler {

// Those that do not hold, as sentences. Costs O(everything).
std::vector<std::string> broken_beliefs_of(const State& state);

}  // namespace trainyard::scheduler
