// What tasks tell of themselves: phases, metrics, checkpoints, failures. Each line counts once,
// however often it is sent.
#pragma once

#include "scheduler/core/turn.h"

namespace trainyard::scheduler {

// Takes the events of the report that lie beyond what is stored; (task, offset) names an event.
void take_run_events(Turn& turn, LiveJob& job, LiveTask& task, const TaskReport& report);

// A sign of progress: the watchdog's patience begins anew.
void note_progress(Turn& turn, LiveJob& job);

}  // namespace trainyard::scheduler
