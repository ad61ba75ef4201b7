// From saved rows to a running core.
#pragma once

#include "scheduler/core/turn.h"

namespace trainyard::scheduler {

// Every silence starts again at `now`: a server that was away learns anew who is alive.
State restore_state(Saved saved, const Limits& limits, TokenMaker tokens, Time now);

// In the first step, when both clocks are known: who waits joins the queue, and each deadline goes
// on with what the wall clock says is left of it. The one place where two moments of the wall clock
// are compared: nothing else outlives a process.
void wake(Turn& turn);

}  // namespace trainyard::scheduler
