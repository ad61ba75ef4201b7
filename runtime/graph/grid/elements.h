// Kernels with one thread for each element.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/team.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

TRAINYARD_BOTH inline void put(float& place, float value, Write write) {
  place = write == Write::add ? place + value : value;
}

// to[i] = function(x[i])
template <class Grid, class Function>
void map_on(Grid& grid, ConstTensor x, Tensor to, const Function& function) {
  const float* const from = x.data;
  float* const into = to.data;
  grid.each(to.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) { into[i] = function(from[i]); });
}

// to[i] = function(a[i], b[i]), or that much more
template <class Grid, class Function>
void map_two_on(Grid& grid, ConstTensor a, ConstTensor b, Tensor to, Write write,
                const Function& function) {
  const float* const first = a.data;
  const float* const second = b.data;
  float* const into = to.data;
  grid.each(to.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    put(into[i], function(first[i], second[i]), write);
  });
}

}  // namespace trainyard::runtime
