// Metrics on the CPU: nothing flows back.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

void run_on_cpu(const MatchLabelsOp& op, const ForwardCall& call);
void run_on_cpu(const MatchBinaryLabelsOp& op, const ForwardCall& call);
void run_on_cpu(const TopKOp& op, const ForwardCall& call);
void run_on_cpu(const AbsoluteErrorOp& op, const ForwardCall& call);

inline void run_back_on_cpu(const MatchLabelsOp&, const BackwardCall&) {}
inline void run_back_on_cpu(const MatchBinaryLabelsOp&, const BackwardCall&) {}
inline void run_back_on_cpu(const TopKOp&, const BackwardCall&) {}
inline void run_back_on_cpu(const AbsoluteErrorOp&, const BackwardCall&) {}

}  // namespace trainyard::runtime
