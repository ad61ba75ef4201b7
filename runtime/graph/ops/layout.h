// Ops that move numbers and compute none.
#pragma once

#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// The same numbers under another shape.
struct ReshapeOp {
  Shape to;  // of one example
};

OpTraits traits_of(const ReshapeOp& op);

Shape shape_of(const ReshapeOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
