// Ops of layout on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

void run_on_cpu(const ReshapeOp& op, const ForwardCall& call);
void run_on_cpu(const TransposeOp& op, const ForwardCall& call);
void run_on_cpu(const ConcatOp& op, const ForwardCall& call);
void run_on_cpu(const SliceOp& op, const ForwardCall& call);
void run_on_cpu(const PadOp& op, const ForwardCall& call);

void run_back_on_cpu(const ReshapeOp& op, const BackwardCall& call);
void run_back_on_cpu(const TransposeOp& op, const BackwardCall& call);
void run_back_on_cpu(const ConcatOp& op, const BackwardCall& call);
void run_back_on_cpu(const SliceOp& op, const BackwardCall& call);
void run_back_on_cpu(const PadOp& op, const BackwardCall& call);

}  // namespace trainyard::runtime
