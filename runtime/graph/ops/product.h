// Products of values of an example with each other.
#pragma once

#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/ops/matrix_product.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Inputs: a [.., rows, depth], b [.., depth, columns], whose leading axes are the same -> [..,
// rows, columns]. One that lies transposed has its last two sizes the other way round.
struct MatrixProductOp {
  Transposed lies;
};

// [fields, features] -> [1]: the sum of the products of each two fields.
struct FactorizeOp {};

// [fields, features] -> [fields (fields - 1) / 2]: each two fields' product, of 1 with 0, of 2 with
// 0 and 1, and so on.
struct PairwiseDotOp {};

OpTraits traits_of(const MatrixProductOp& op);
OpTraits traits_of(const FactorizeOp& op);
OpTraits traits_of(const PairwiseDotOp& op);

Shape shape_of(const MatrixProductOp& op, std::span<const Shape> inputs);
Shape shape_of(const FactorizeOp& op, std::span<const Shape> inputs);
Shape shape_of(const PairwiseDotOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
