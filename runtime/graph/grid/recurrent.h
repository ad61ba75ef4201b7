// Embeddings and recurrent networks on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct RecurrentOps {
  static Needs needs(const EmbeddingOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const LstmOp& op, std::span<const Shape> inputs, const Shape& output,
                     const Grid& grid);
  static Needs needs(const GruOp& op, std::span<const Shape> inputs, const Shape& output,
                     const Grid& grid);
  static Needs needs(const RnnOp& op, std::span<const Shape> inputs, const Shape& output,
                     const Grid& grid);

  static void forward(Grid& grid, const EmbeddingOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const LstmOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const GruOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const RnnOp& op, const ForwardCall& call);

  static void backward(Grid& grid, const EmbeddingOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const LstmOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const GruOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const RnnOp& op, const BackwardCall& call);
};

}  // namespace trainyard::runtime
