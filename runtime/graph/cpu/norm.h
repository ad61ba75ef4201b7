// Normalisations on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

Needs cpu_needs(const BatchNormOp& op, std::span<const Shape> inputs, const Shape& output);
Needs cpu_needs(const LayerNormOp& op, std::span<const Shape> inputs, const Shape& output);
Needs cpu_needs(const RmsNormOp& op, std::span<const Shape> inputs, const Shape& output);
Needs cpu_needs(const GroupNormOp& op, std::span<const Shape> inputs, const Shape& output,
                std::int64_t threads);

void run_on_cpu(const BatchNormOp& op, const ForwardCall& call);
void run_on_cpu(const LayerNormOp& op, const ForwardCall& call);
void run_on_cpu(const RmsNormOp& op, const ForwardCall& call);
void run_on_cpu(const GroupNormOp& op, const ForwardCall& call);

void run_back_on_cpu(const BatchNormOp& op, const BackwardCall& call);
void run_back_on_cpu(const LayerNormOp& op, const BackwardCall& call);
void run_back_on_cpu(const RmsNormOp& op, const BackwardCall& call);
void run_back_on_cpu(const GroupNormOp& op, const BackwardCall& call);

}  // namespace trainyard::runtime
