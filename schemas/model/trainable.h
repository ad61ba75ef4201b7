// Which part of the language this version trains. The rest is read, drawn and counted, and a job
// that asks for it is told so before a task starts.
#pragma once

#include <string>
#include <vector>

#include "schemas/base/fault.h"
#include "schemas/model/analysis.h"

namespace trainyard::model {

// Each at what the user wrote, for the most of FaultKind::not_yet; none: the runtime trains it.
// `analysis` is that of `written`, whose pointer in its document is `pointer`, and has no faults.
std::vector<Fault> not_trainable_yet(const Written& written, const Analysis& analysis,
                                     const std::string& pointer);

}  // namespace trainyard::model
