// Loops over the elements of tensors of one shape.
#pragma once

#include "runtime/math/tensor.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

// y[i] = function(x[i]); y is x or apart from it, which is what ivdep promises.
template <class Function>
void map(ConstTensor x, Tensor y, const Function function) {
  ENSURE(x.shape == y.shape);
  const std::int64_t size = y.elements();
#pragma GCC ivdep
  for (std::int64_t i = 0; i < size; ++i) y.data[i] = function(x.data[i]);
}

// to[i] = function(a[i], b[i]), or that much more; `to` is a or b or apart from them.
template <class Function>
void map_two(ConstTensor a, ConstTensor b, Tensor to, Write write, const Function function) {
  ENSURE(a.shape == b.shape && a.shape == to.shape);
  const std::int64_t size = a.elements();
  if (write == Write::add) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < size; ++i) to.data[i] += function(a.data[i], b.data[i]);
  } else {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < size; ++i) to.data[i] = function(a.data[i], b.data[i]);
  }
}

}  // namespace trainyard::runtime
