#include "runtime/math/ops/binary.h"

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/avx512.h"
#include "runtime/math/elements/binary.h"
#include "runtime/math/ops/cpu/reduced_axes.h"
#include "runtime/math/ops/cpu/strided.h"
#include "runtime/math/ops/reduce.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

using BinaryLoops = StridedLoops<3>;  // a, b, y

BinaryLoops loops_over(const Shape& a, const Shape& b, const Shape& y) {
  ENSURE(a.rank() == y.rank() && b.rank() == y.rank());
  const auto a_strides = strides_of(a);
  const auto b_strides = strides_of(b);
  const auto y_strides = strides_of(y);
  BinaryLoops loops;
  for (std::size_t axis = 0; axis < y.rank(); ++axis) {
    ENSURE((a[axis] == y[axis] || a[axis] == 1) && (b[axis] == y[axis] || b[axis] == 1));
    loops.add_axis(y[axis], {a[axis] == 1 ? 0 : a_strides[axis], b[axis] == 1 ? 0 : b_strides[axis],
                             y_strides[axis]});
  }
  return loops;
}

// body(i) for i below count, as vectors: what is written is what is read, or apart from it.
template <class Body>
void run(std::int64_t count, Body body) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

// write(place in y, a, b). Of the last axis each side has steps of 1 or stands still, which the
// compiler is to know.
template <class Body>
void for_each_pair(const BinaryLoops& loops, const float* a, const float* b, Body body) {
  const bool is_one = loops.rank() == 0;
  const std::int64_t count = is_one ? 1 : loops.size(loops.rank() - 1);
  const bool a_moves = !is_one && loops.strides(loops.rank() - 1)[0] != 0;
  const bool b_moves = !is_one && loops.strides(loops.rank() - 1)[1] != 0;
  const auto row = [=](const BinaryLoops::Offsets& at) {
    const float* const left = a + at[0];
    const float* const right = b + at[1];
    const std::int64_t y = at[2];
    if (a_moves && b_moves) {
      run(count, [=](std::int64_t i) { body(y + i, left[i], right[i]); });
    } else if (a_moves) {
      run(count, [=, one = *right](std::int64_t i) { body(y + i, left[i], one); });
    } else {
      run(count, [=, one = *left](std::int64_t i) { body(y + i, one, right[i]); });
    }
  };
  by_vectors([&loops, row] { loops.for_each(1, row); });
}

void write_terms(Binary op, const CombineGradient& call, float* to, Write write) {
  const BinaryLoops loops = loops_over(call.a.shape, call.b.shape, call.y_gradient.shape);
  const float* const upstream = call.y_gradient.data;
  const auto visit = [&](auto gradient) {
    const auto at = [=](std::int64_t i, float a, float b) { return gradient(a, b, upstream[i]); };
    if (write == Write::add) {
      for_each_pair(loops, call.a.data, call.b.data,
                    [=](std::int64_t i, float a, float b) { to[i] += at(i, a, b); });
    } else {
      for_each_pair(loops, call.a.data, call.b.data,
                    [=](std::int64_t i, float a, float b) { to[i] = at(i, a, b); });
    }
  };
  if (call.of == Towards::a) return with_gradient_to_a(op, visit);
  with_gradient_to_b(op, visit);
}

}  // namespace

void combine(Binary op, ConstTensor a, ConstTensor b, Tensor y) {
  const BinaryLoops loops = loops_over(a.shape, b.shape, y.shape);
  with_op(op, [&](auto function) {
    for_each_pair(loops, a.data, b.data,
                  [function, to = y.data](std::int64_t i, float left, float right) {
                    to[i] = function(left, right);
                  });
  });
}

std::int64_t combine_gradient_scratch(const Shape& operand, const Shape& y) {
  const AxisNumbers axes = stretched(operand, y);
  if (axes.rank() == 0) return 0;
  return round_up_to_alignment(y.elements()) + reduce_scratch(y, axes);
}

void combine_gradient(Binary op, const CombineGradient& call, std::span<float> scratch) {
  const Shape& y = call.y_gradient.shape;
  const Shape& operand = call.of == Towards::a ? call.a.shape : call.b.shape;
  ENSURE(call.of_gradient.elements() == operand.elements());
  const AxisNumbers axes = stretched(operand, y);
  if (axes.rank() == 0) return write_terms(op, call, call.of_gradient.data, call.write);
  ENSURE(std::ssize(scratch) >= combine_gradient_scratch(operand, y));
  write_terms(op, call, scratch.data(), Write::overwrite);
  const auto rest = scratch.subspan(static_cast<std::size_t>(round_up_to_alignment(y.elements())));
  reduce_sum({scratch.data(), y}, axes, call.of_gradient, call.write, rest);
}

}  // namespace trainyard::runtime
