// Products with a matrix of parameters, and rows of an embedding table.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Inputs: x [.., in], kernel [in, out], and perhaps bias [out] -> [.., out]. The kernel that is
// transposed lies as [out, in]: an embedding's table as the matrix of a model's head.
struct MatMulOp {
  bool has_transposed_kernel = false;
};

// The same of sparse features. Inputs: SparseFeaturesOp, kernel [in, out], and perhaps bias [out].
struct SparseMatMulOp {};

enum class Pooling { sum, mean };

// Columns [first, first + columns) of the embedding rows of an example's elements, each times its
// element's value, added up; mean: divided by the number of elements. Input: SparseFeaturesOp. The
// rows and the place of their gradients are in the feed.
struct RowPoolOp {
  std::int64_t first;
  std::int64_t columns;
  Pooling pooling;
  std::int64_t table = 0;
};

// The same columns of the row of each id. Input: IdsOp [..] -> [.., columns].
struct RowLookupOp {
  std::int64_t first = 0;
  std::int64_t columns = 0;
  std::int64_t table = 0;
};

OpTraits traits_of(const MatMulOp& op);
OpTraits traits_of(const SparseMatMulOp& op);
OpTraits traits_of(const RowPoolOp& op);
OpTraits traits_of(const RowLookupOp& op);

Shape shape_of(const MatMulOp& op, std::span<const Shape> inputs);
Shape shape_of(const SparseMatMulOp& op, std::span<const Shape> inputs);
Shape shape_of(const RowPoolOp& op, std::span<const Shape> inputs);
Shape shape_of(const RowLookupOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
