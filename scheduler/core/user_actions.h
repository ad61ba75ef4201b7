// What people ask for: submit, cancel, suspend, resume, delete, cordon, drain, forget. Each says
// how it was met.
#pragma once

#include "scheduler/core/turn.h"

namespace trainyard::scheduler {

Outcome submit(Turn& turn, const Submit& event);
Outcome act(Turn& turn, const ActOnJob& event);
Outcome remove(Turn& turn, const DeleteJob& event);
Outcome cordon(Turn& turn, const SetCordon& event);
Outcome drain(Turn& turn, const DrainAgent& event);
Outcome forget(Turn& turn, const ForgetAgent& event);

}  // namespace trainyard::scheduler
