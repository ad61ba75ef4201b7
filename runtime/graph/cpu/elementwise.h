// Elementwise ops on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

Needs cpu_needs(const BinaryOp& op, std::span<const Shape> inputs, const Shape& output);

void run_on_cpu(const ActivationOp& op, const ForwardCall& call);
void run_on_cpu(const PreluOp& op, const ForwardCall& call);
void run_on_cpu(const AffineOp& op, const ForwardCall& call);
void run_on_cpu(const ClipOp& op, const ForwardCall& call);
void run_on_cpu(const AddOp& op, const ForwardCall& call);
void run_on_cpu(const BinaryOp& op, const ForwardCall& call);

void run_back_on_cpu(const ActivationOp& op, const BackwardCall& call);
void run_back_on_cpu(const PreluOp& op, const BackwardCall& call);
void run_back_on_cpu(const AffineOp& op, const BackwardCall& call);
void run_back_on_cpu(const ClipOp& op, const BackwardCall& call);
void run_back_on_cpu(const AddOp& op, const BackwardCall& call);
void run_back_on_cpu(const BinaryOp& op, const BackwardCall& call);

}  // namespace trainyard::runtime
