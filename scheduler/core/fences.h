// The fences of ARCHITECTURE.md section 5 that stand on the server's side of the agent protocol.
// All are kept; only tests/sim removes one at a time, to prove that the simulation notices.
#pragma once

namespace trainyard::scheduler {

enum class Fence { kept, removed };

struct Fences {
  Fence shown_gone = Fence::kept;   // slots are free only when the agent has shown the task gone
  Fence saved_first = Fence::kept;  // nothing is sent of a step that could not be saved
  Fence saved_generation = Fence::kept;  // a generation is saved before its assignment is sent
  Fence applied_generation =
      Fence::kept;                    // missing means gone only once the placing one was applied
  Fence instance = Fence::kept;       // another agent of the name waits until this one is down
  Fence epoch = Fence::kept;          // what a newer start of an agent does not show is over
  Fence report_number = Fence::kept;  // an older report never overtakes a newer one
  Fence patience = Fence::kept;       // lost_after, not stop_after: the lease has ended by then
};

}  // namespace trainyard::scheduler
