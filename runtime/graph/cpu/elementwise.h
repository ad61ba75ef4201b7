// Elementwise ops on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

void run_on_cpu(const ActivationOp& op, const ForwardCall& call);
void run_on_cpu(const AddOp& op, const ForwardCall& call);

void run_back_on_cpu(const ActivationOp& op, const BackwardCall& call);
void run_back_on_cpu(const AddOp& op, const BackwardCall& call);

}  // namespace trainyard::runtime
