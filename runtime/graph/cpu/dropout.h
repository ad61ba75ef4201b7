// Dropout on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

void run_on_cpu(const DropoutOp& op, const ForwardCall& call);
void run_back_on_cpu(const DropoutOp& op, const BackwardCall& call);

}  // namespace trainyard::runtime
