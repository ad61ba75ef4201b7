// Functions of two tensors that are stretched to one shape, on a grid, as math/ops/binary.h has
// them.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/elements.h"
#include "runtime/graph/grid/reduce_sum.h"
#include "runtime/graph/grid/strides.h"
#include "runtime/math/elements/binary.h"
#include "runtime/math/ops/cpu/reduced_axes.h"
#include "runtime/math/tensor.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

// Of each element of y those of a and b.
inline Strides<2> pairs_of(const Shape& a, const Shape& b, const Shape& y) {
  ENSURE(a.rank() == y.rank() && b.rank() == y.rank());
  const auto a_strides = strides_of(a);
  const auto b_strides = strides_of(b);
  StridedLoops<2> loops;
  for (std::size_t axis = 0; axis < y.rank(); ++axis) {
    ENSURE((a[axis] == y[axis] || a[axis] == 1) && (b[axis] == y[axis] || b[axis] == 1));
    loops.add_axis(y[axis],
                   {a[axis] == 1 ? 0 : a_strides[axis], b[axis] == 1 ? 0 : b_strides[axis]});
  }
  return strides_over<2>(loops);
}

template <class Grid, class Function>
void combine_on(Grid& grid, ConstTensor a, ConstTensor b, Tensor y, const Function& function) {
  const Strides<2> pairs = pairs_of(a.shape, b.shape, y.shape);
  const float* const left = a.data;
  const float* const right = b.data;
  float* const to = y.data;
  grid.each(y.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const Offsets<2> at = pairs.at(i);
    to[i] = function(left[at.of[0]], right[at.of[1]]);
  });
}

// What flows back to each element of y, before it is summed.
template <class Grid, class Gradient>
void combine_terms_on(Grid& grid, const CombineGradient& call, float* to, Write write,
                      const Gradient& gradient) {
  const Strides<2> pairs = pairs_of(call.a.shape, call.b.shape, call.y_gradient.shape);
  const float* const left = call.a.data;
  const float* const right = call.b.data;
  const float* const upstream = call.y_gradient.data;
  grid.each(call.y_gradient.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const Offsets<2> at = pairs.at(i);
    put(to[i], gradient(left[at.of[0]], right[at.of[1]], upstream[i]), write);
  });
}

// Whether the terms are y's gradient itself.
inline bool terms_are_upstream(Binary op, Towards of) {
  return op == Binary::add || (op == Binary::sub && of == Towards::a);
}

struct Negated {
  TRAINYARD_BOTH float operator()(float value) const { return -value; }
};

// Of sums and differences a and b are not read: they may be gone.
template <class Grid>
void combine_terms_on(Grid& grid, Binary op, const CombineGradient& call, float* to, Write write) {
  const Tensor terms{to, call.y_gradient.shape};
  if (op == Binary::add || op == Binary::sub) {
    if (terms_are_upstream(op, call.of)) {
      return map_more_on(grid, call.y_gradient, terms, write, AsItIs{});
    }
    return map_more_on(grid, call.y_gradient, terms, write, Negated{});
  }
  const auto visit = [&](const auto& gradient) {
    combine_terms_on(grid, call, to, write, gradient);
  };
  if (call.of == Towards::a) return with_gradient_to_a(op, visit);
  with_gradient_to_b(op, visit);
}

inline std::int64_t combine_gradient_room(const Shape& operand, const Shape& y) {
  const AxisNumbers axes = stretched(operand, y);
  return axes.rank() == 0 ? 0 : y.elements() + reduce_sum_scratch(y, axes);
}

template <class Grid>
void combine_gradient_on(Grid& grid, Binary op, const CombineGradient& call, Tensor scratch) {
  const Shape& y = call.y_gradient.shape;
  const Shape& operand = call.of == Towards::a ? call.a.shape : call.b.shape;
  const AxisNumbers axes = stretched(operand, y);
  if (axes.rank() == 0) {
    return combine_terms_on(grid, op, call, call.of_gradient.data, call.write);
  }
  ENSURE(scratch.elements() >= combine_gradient_room(operand, y));
  const Tensor rest{scratch.data + y.elements(), {scratch.elements() - y.elements()}};
  ConstTensor terms = call.y_gradient;
  if (!terms_are_upstream(op, call.of)) {
    combine_terms_on(grid, op, call, scratch.data, Write::overwrite);
    terms = {scratch.data, y};
  }
  reduce_sum_on(grid, terms, axes, call.of_gradient, call.write, rest, AsItIs{});
}

}  // namespace trainyard::runtime
