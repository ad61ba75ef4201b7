// What an agent's report means: who is alive, which tasks go on, which are gone, and what they
// told.
#pragma once

#include "scheduler/core/turn.h"

namespace trainyard::scheduler {

// A report of an older start of the agent, or one that a newer has overtaken, is ignored. Every
// other is answered by one assignment. An agent that was not known is known from now on.
void take_report(Turn& turn, const AgentReport& report);

}  // namespace trainyard::scheduler
