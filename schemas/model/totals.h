// Sums over a whole analysis: counts, the arena, the memory of each role, and whether it is enough.
#pragma once

#include <vector>

#include "schemas/model/analyser.h"

namespace trainyard::model {

// Kept bytes of each layer and of all; a block that is computed again keeps what goes into it, and
// the largest of these blocks its values for as long as its backward pass takes.
void sum_costs(Analysis& analysis, std::vector<ValueNote>& notes);

// Parameters in the order of the layers; behind them state, at a border of chunks' blocks.
void lay_out_arena(Analysis& analysis);

// Fills in `worker` and `ps`, and notes what is more than the job asks for.
void check_memory(Analysis& analysis, const std::vector<ValueNote>& notes, const Setting& setting,
                  FaultList& faults);

}  // namespace trainyard::model
