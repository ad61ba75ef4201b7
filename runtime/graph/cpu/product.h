// Products of values on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

void run_on_cpu(const MatrixProductOp& op, const ForwardCall& call);
void run_on_cpu(const FactorizeOp& op, const ForwardCall& call);
void run_on_cpu(const PairwiseDotOp& op, const ForwardCall& call);

void run_back_on_cpu(const MatrixProductOp& op, const BackwardCall& call);
void run_back_on_cpu(const FactorizeOp& op, const BackwardCall& call);
void run_back_on_cpu(const PairwiseDotOp& op, const BackwardCall& call);

}  // namespace trainyard::runtime
