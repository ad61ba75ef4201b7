// Products and pooled rows on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

void run_on_cpu(const MatMulOp& op, const ForwardCall& call);
void run_on_cpu(const SparseMatMulOp& op, const ForwardCall& call);
void run_on_cpu(const RowPoolOp& op, const ForwardCall& call);
void run_on_cpu(const RowLookupOp& op, const ForwardCall& call);

void run_back_on_cpu(const MatMulOp& op, const BackwardCall& call);
void run_back_on_cpu(const SparseMatMulOp& op, const BackwardCall& call);
void run_back_on_cpu(const RowPoolOp& op, const BackwardCall& call);
void run_back_on_cpu(const RowLookupOp& op, const BackwardCall& call);

}  // namespace trainyard::runtime
