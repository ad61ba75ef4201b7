// Embeddings and recurrent networks on the CPU.
#pragma once

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

Needs cpu_needs(const EmbeddingOp& op, std::span<const Shape> inputs, const Shape& output);
Needs cpu_needs(const LstmOp& op, std::span<const Shape> inputs, const Shape& output,
                std::int64_t threads);
Needs cpu_needs(const GruOp& op, std::span<const Shape> inputs, const Shape& output,
                std::int64_t threads);
Needs cpu_needs(const RnnOp& op, std::span<const Shape> inputs, const Shape& output,
                std::int64_t threads);

void run_on_cpu(const EmbeddingOp& op, const ForwardCall& call);
void run_on_cpu(const LstmOp& op, const ForwardCall& call);
void run_on_cpu(const GruOp& op, const ForwardCall& call);
void run_on_cpu(const RnnOp& op, const ForwardCall& call);

void run_back_on_cpu(const EmbeddingOp& op, const BackwardCall& call);
void run_back_on_cpu(const LstmOp& op, const BackwardCall& call);
void run_back_on_cpu(const GruOp& op, const BackwardCall& call);
void run_back_on_cpu(const RnnOp& op, const BackwardCall& call);

}  // namespace trainyard::runtime
