// Losses on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

Needs cpu_needs(const SoftmaxCrossEntropyOp& op, std::span<const Shape> inputs,
                const Shape& output);

void run_on_cpu(const SoftmaxCrossEntropyOp& op, const ForwardCall& call);
void run_on_cpu(const SigmoidCrossEntropyOp& op, const ForwardCall& call);
void run_on_cpu(const SquaredErrorOp& op, const ForwardCall& call);
void run_on_cpu(const HuberOp& op, const ForwardCall& call);

void run_back_on_cpu(const SoftmaxCrossEntropyOp& op, const BackwardCall& call);
void run_back_on_cpu(const SigmoidCrossEntropyOp& op, const BackwardCall& call);
void run_back_on_cpu(const SquaredErrorOp& op, const BackwardCall& call);
void run_back_on_cpu(const HuberOp& op, const BackwardCall& call);

}  // namespace trainyard::runtime
