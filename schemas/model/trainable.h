// Which part of the language this version trains. The rest is read, drawn and counted, and a job
// that asks for it is told so before a task starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/base/fault.h"
#include "schemas/model/analysis.h"

namespace trainyard::model {

// Of a micro-batch with in_batch_softmax: its scores and their gradients are 2 GiB then.
inline constexpr std::int64_t in_batch_examples_max = 16'384;

// Each at what the user wrote, for the most of FaultKind::not_yet; none: the runtime trains it.
// `analysis` is that of `written`, whose pointer in its document is `pointer`, and has no faults.
std::vector<Fault> not_trainable_yet(const Written& written, const Analysis& analysis,
                                     const std::string& pointer);

}  // namespace trainyard::model
