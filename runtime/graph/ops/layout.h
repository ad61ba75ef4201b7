// Ops that move numbers and compute none. Axes are those of one example, from 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/ops/layout.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// The same numbers under another shape.
struct ReshapeOp {
  Shape to;  // of one example
};

// y's axis i is x's axis axes[i].
struct TransposeOp {
  AxisNumbers axes;
};

// One input or more, one behind the other along the axis.
struct ConcatOp {
  std::size_t axis;
};

// [begin, begin + size) along the axis.
struct SliceOp {
  std::size_t axis;
  std::int64_t begin;
  std::int64_t size;
};

// So many numbers more before and after, along each axis.
struct PadOp {
  AxisNumbers before;
  AxisNumbers after;
  float value = 0;
};

OpTraits traits_of(const ReshapeOp& op);
OpTraits traits_of(const TransposeOp& op);
OpTraits traits_of(const ConcatOp& op);
OpTraits traits_of(const SliceOp& op);
OpTraits traits_of(const PadOp& op);

Shape shape_of(const ReshapeOp& op, std::span<const Shape> inputs);
Shape shape_of(const TransposeOp& op, std::span<const Shape> inputs);
Shape shape_of(const ConcatOp& op, std::span<const Shape> inputs);
Shape shape_of(const SliceOp& op, std::span<const Shape> inputs);
Shape shape_of(const PadOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
