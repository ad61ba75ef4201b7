// Losses and metrics of examples among each other on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

Needs cpu_needs(const InBatchSoftmaxOp& op, std::span<const Shape> inputs, const Shape& output);
Needs cpu_needs(const RecallInBatchOp& op, std::span<const Shape> inputs, const Shape& output);

void run_on_cpu(const InBatchSoftmaxOp& op, const ForwardCall& call);
void run_on_cpu(const RecallInBatchOp& op, const ForwardCall& call);

void run_back_on_cpu(const InBatchSoftmaxOp& op, const BackwardCall& call);
inline void run_back_on_cpu(const RecallInBatchOp&, const BackwardCall&) {}

}  // namespace trainyard::runtime
