// Attention and its like on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

Needs cpu_needs(const SdpaOp& op, std::span<const Shape> inputs, const Shape& output,
                std::int64_t threads);
Needs cpu_needs(const RopeOp& op, std::span<const Shape> inputs, const Shape& output);

void run_on_cpu(const SdpaOp& op, const ForwardCall& call);
void run_on_cpu(const PositionsOp& op, const ForwardCall& call);
void run_on_cpu(const RopeOp& op, const ForwardCall& call);

void run_back_on_cpu(const SdpaOp& op, const BackwardCall& call);
void run_back_on_cpu(const PositionsOp& op, const BackwardCall& call);
void run_back_on_cpu(const RopeOp& op, const BackwardCall& call);

}  // namespace trainyard::runtime
