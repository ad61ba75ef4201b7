// Losses of sequences and their metrics on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

Needs cpu_needs(const TokenCrossEntropyOp& op, std::span<const Shape> inputs, const Shape& output);
Needs cpu_needs(const MatchTokensOp& op, std::span<const Shape> inputs, const Shape& output);
Needs cpu_needs(const CtcOp& op, std::span<const Shape> inputs, const Shape& output);
Needs cpu_needs(const EditDistanceOp& op, std::span<const Shape> inputs, const Shape& output);
Needs cpu_needs(const MatchSequenceOp& op, std::span<const Shape> inputs, const Shape& output);

void run_on_cpu(const TokenCrossEntropyOp& op, const ForwardCall& call);
void run_on_cpu(const MatchTokensOp& op, const ForwardCall& call);
void run_on_cpu(const CtcOp& op, const ForwardCall& call);
void run_on_cpu(const EditDistanceOp& op, const ForwardCall& call);
void run_on_cpu(const MatchSequenceOp& op, const ForwardCall& call);

void run_back_on_cpu(const TokenCrossEntropyOp& op, const BackwardCall& call);
void run_back_on_cpu(const CtcOp& op, const BackwardCall& call);
inline void run_back_on_cpu(const MatchTokensOp&, const BackwardCall&) {}
inline void run_back_on_cpu(const EditDistanceOp&, const BackwardCall&) {}
inline void run_back_on_cpu(const MatchSequenceOp&, const BackwardCall&) {}

}  // namespace trainyard::runtime
