// Ops whose output's element is made of one element of each input.
#pragma once

#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/ops/activation.h"
#include "runtime/math/ops/binary.h"
#include "runtime/math/ops/linear.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

struct ActivationOp {
  Activation function;
};

// x where it is above zero, else x times its channel's slope. Inputs: x [.., channels], slope
// [channels].
struct PreluOp {};

// x * scale + shift.
struct AffineOp {
  Affine by;
};

struct ClipOp {
  Limits limits;
};

// The sum of two tensors of one shape.
struct AddOp {};

// a op b, both of an example. Their sizes are compared from the last axis on: where one of them is
// 1, or missing, the same numbers meet all of the other's.
struct BinaryOp {
  Binary op;
};

OpTraits traits_of(const ActivationOp& op);
OpTraits traits_of(const PreluOp& op);
OpTraits traits_of(const AffineOp& op);
OpTraits traits_of(const ClipOp& op);
OpTraits traits_of(const AddOp& op);
OpTraits traits_of(const BinaryOp& op);

Shape shape_of(const ActivationOp& op, std::span<const Shape> inputs);
Shape shape_of(const PreluOp& op, std::span<const Shape> inputs);
Shape shape_of(const AffineOp& op, std::span<const Shape> inputs);
Shape shape_of(const ClipOp& op, std::span<const Shape> inputs);
Shape shape_of(const AddOp& op, std::span<const Shape> inputs);
Shape shape_of(const BinaryOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
