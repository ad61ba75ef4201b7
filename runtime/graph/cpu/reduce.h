// Reductions on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

Needs cpu_needs(const ReduceOp& op, std::span<const Shape> inputs, const Shape& output);

void run_on_cpu(const ReduceOp& op, const ForwardCall& call);

void run_back_on_cpu(const ReduceOp& op, const BackwardCall& call);

}  // namespace trainyard::runtime
