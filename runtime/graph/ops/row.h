// Functions of the rows of the last axis, each row for itself.
#pragma once

#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// [.., classes]
struct SoftmaxOp {};
struct LogSoftmaxOp {};

// x / max(|x|, 1e-12)
struct L2NormalizeOp {};

OpTraits traits_of(const SoftmaxOp& op);
OpTraits traits_of(const LogSoftmaxOp& op);
OpTraits traits_of(const L2NormalizeOp& op);

Shape shape_of(const SoftmaxOp& op, std::span<const Shape> inputs);
Shape shape_of(const LogSoftmaxOp& op, std::span<const Shape> inputs);
Shape shape_of(const L2NormalizeOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
