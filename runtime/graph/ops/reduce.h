// Sums, means and largest values over axes.
#pragma once

#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/ops/reduce.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

enum class Reduction { sum, mean, max };

// Over axes of one example, from 0, each once and in any order. They are gone from the output's
// shape, or have size 1 there.
struct ReduceOp {
  Reduction kind;
  AxisNumbers axes;
  bool keeps_axes = false;
};

OpTraits traits_of(const ReduceOp& op);

Shape shape_of(const ReduceOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
