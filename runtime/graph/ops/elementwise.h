// Ops whose output's element is made of one element of each input.
#pragma once

#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/ops/activation.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

struct ActivationOp {
  Nonlinearity kind;
};

// The sum of two tensors of one shape.
struct AddOp {};

OpTraits traits_of(const ActivationOp& op);
OpTraits traits_of(const AddOp& op);

Shape shape_of(const ActivationOp& op, std::span<const Shape> inputs);
Shape shape_of(const AddOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
