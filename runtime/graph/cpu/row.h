// Functions of rows on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

Needs cpu_needs(const L2NormalizeOp& op, std::span<const Shape> inputs, const Shape& output);

void run_on_cpu(const SoftmaxOp& op, const ForwardCall& call);
void run_on_cpu(const LogSoftmaxOp& op, const ForwardCall& call);
void run_on_cpu(const L2NormalizeOp& op, const ForwardCall& call);

void run_back_on_cpu(const SoftmaxOp& op, const BackwardCall& call);
void run_back_on_cpu(const LogSoftmaxOp& op, const BackwardCall& call);
void run_back_on_cpu(const L2NormalizeOp& op, const BackwardCall& call);

}  // namespace trainyard::runtime
