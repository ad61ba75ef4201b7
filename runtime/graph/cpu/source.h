// Sources on the CPU: their values lie outside the arena, nothing is to be done.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

inline void run_on_cpu(const FeaturesOp&, const ForwardCall&) {}
inline void run_on_cpu(const SparseFeaturesOp&, const ForwardCall&) {}
inline void run_on_cpu(const IdsOp&, const ForwardCall&) {}
inline void run_on_cpu(const VariableOp&, const ForwardCall&) {}

inline void run_back_on_cpu(const FeaturesOp&, const BackwardCall&) {}
inline void run_back_on_cpu(const SparseFeaturesOp&, const BackwardCall&) {}
inline void run_back_on_cpu(const IdsOp&, const BackwardCall&) {}
inline void run_back_on_cpu(const VariableOp&, const BackwardCall&) {}

}  // namespace trainyard::runtime
