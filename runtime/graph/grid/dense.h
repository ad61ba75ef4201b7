// Products with a matrix of parameters, and rows of tables on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct DenseOps {
  static Needs needs(const MatMulOp& op, std::span<const Shape> inputs, const Shape& output,
                     const Grid& grid);
  static Needs needs(const SparseMatMulOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const RowPoolOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const RowLookupOp& op, std::span<const Shape> inputs, const Shape& output);

  static void forward(Grid& grid, const MatMulOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const SparseMatMulOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const RowPoolOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const RowLookupOp& op, const ForwardCall& call);

  static void backward(Grid& grid, const MatMulOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const SparseMatMulOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const RowPoolOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const RowLookupOp& op, const BackwardCall& call);
};

}  // namespace trainyard::runtime
