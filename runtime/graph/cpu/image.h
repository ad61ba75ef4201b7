// Convolutions and pools on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

Needs cpu_needs(const Conv2dOp& op, std::span<const Shape> inputs, const Shape& output,
                std::int64_t threads);
Needs cpu_needs(const MaxPool2dOp& op, std::span<const Shape> inputs, const Shape& output);

void run_on_cpu(const Conv2dOp& op, const ForwardCall& call);
void run_on_cpu(const DepthwiseConv2dOp& op, const ForwardCall& call);
void run_on_cpu(const MaxPool2dOp& op, const ForwardCall& call);
void run_on_cpu(const AvgPool2dOp& op, const ForwardCall& call);
void run_on_cpu(const GlobalAvgPoolOp& op, const ForwardCall& call);

void run_back_on_cpu(const Conv2dOp& op, const BackwardCall& call);
void run_back_on_cpu(const DepthwiseConv2dOp& op, const BackwardCall& call);
void run_back_on_cpu(const MaxPool2dOp& op, const BackwardCall& call);
void run_back_on_cpu(const AvgPool2dOp& op, const BackwardCall& call);
void run_back_on_cpu(const GlobalAvgPoolOp& op, const BackwardCall& call);

}  // namespace trainyard::runtime
