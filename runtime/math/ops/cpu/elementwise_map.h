// Loops over the elements of tensors of one shape.
#pragma once

#include "runtime/math/avx512.h"
#include "runtime/math/tensor.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

// y[i] = function(x[i]); y is x or apart from it, which is what ivdep promises.
template <class Function>
void map(ConstTensor x, Tensor y, const Function function) {
  ENSURE(x.shape == y.shape);
  by_vectors([=, from = x.data, to = y.data, size = y.elements()] {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < size; ++i) to[i] = function(from[i]);
  });
}

// to[i] = function(a[i], b[i]), or that much more; `to` is a or b or apart from them.
template <class Function>
void map_two(ConstTensor a, ConstTensor b, Tensor to, Write write, const Function function) {
  ENSURE(a.shape == b.shape && a.shape == to.shape);
  by_vectors([=, left = a.data, right = b.data, out = to.data, size = a.elements()] {
    if (write == Write::add) {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < size; ++i) out[i] += function(left[i], right[i]);
    } else {
#pragma GCC ivdep
      for (std::int64_t i = 0; i < size; ++i) out[i] = function(left[i], right[i]);
    }
  });
}

}  // namespace trainyard::runtime
