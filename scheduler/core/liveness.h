// Who is alive at `now`, and what is overdue. An agent is silent (shown, takes nothing new), then
// lost: by then its lease has ended, so its tasks are gone and may run elsewhere.
#pragma once

#include <set>

#include "scheduler/core/turn.h"

namespace trainyard::scheduler {

// The agent that reports; a record is made for one that was not known.
LiveAgent& meet(Turn& turn, const AgentReport& report);

// The agent has started anew. `found`: what it shows of its earlier starts' tasks; the others are
// over.
void begin_epoch(Turn& turn, LiveAgent& agent, const AgentReport& report,
                 const std::set<TaskKey>& found);

// `host` is what the agent offers. Where that is not what it offered before, its tasks end, and
// until they have it takes no others.
void settle_in(Turn& turn, LiveAgent& agent, const HostInfo& host);

// What its GPUs show now. One that a stranger uses is given to nobody; a task that has it keeps it.
void take_readings(Turn& turn, LiveAgent& agent, const std::vector<GpuReading>& readings);

// The agent has spoken.
enum class Intent { stay, leave };
void hear(Turn& turn, LiveAgent& agent, Intent intent);

// It leaves and shows no process any more: nobody has to wait until its lease is over.
void say_farewell(Turn& turn, LiveAgent& agent);

void set_cordon(Turn& turn, LiveAgent& agent, bool cordoned);
// Shows one that is heard of, and does not leave, as what it is now.
void settle(Turn& turn, LiveAgent& agent);

// Silences and deadlines that are over.
void watch(Turn& turn);

}  // namespace trainyard::scheduler
