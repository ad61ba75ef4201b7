// Functions of two numbers, element by element, of tensors that are stretched to one shape.
//
// a and b have the rank of y; their sizes are those of y, or 1 where the same number meets all of
// an axis.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// max: a < b ? b : a, min: b < a ? b : a: of equal ones the first, and NaN loses unless it comes
// first.
enum class Binary { add, sub, mul, div, max, min };

// y = a op b. y may be one of them that has its shape.
void combine(Binary op, ConstTensor a, ConstTensor b, Tensor y);

enum class Towards { a, b };

// Elements of scratch for the gradient of an operand of that shape.
std::int64_t combine_gradient_scratch(const Shape& operand, const Shape& y);

// of_gradient = y_gradient times the slope towards one of them, summed over the axes along which
// that is stretched, in the order of reduce.h. of_gradient overlaps nothing.
struct CombineGradient {
  ConstTensor a;
  ConstTensor b;
  ConstTensor y_gradient;
  Towards of = Towards::a;
  Tensor of_gradient;
  Write write = Write::overwrite;
};
void combine_gradient(Binary op, const CombineGradient& call, std::span<float> scratch);

}  // namespace trainyard::runtime
