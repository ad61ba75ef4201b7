// Sums over axes on a grid, in the order of reduce_sum (math/ops/reduce.h).
#pragma once

#include <cstdint>

#include "runtime/graph/grid/elements.h"
#include "runtime/graph/grid/row_sums.h"
#include "runtime/graph/grid/team.h"
#include "runtime/math/ops/cpu/reduced_axes.h"
#include "runtime/math/ops/layout.h"
#include "runtime/math/tensor.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

inline std::int64_t sum_step_scratch(const ReducedAxes::Step& step) {
  return step.inner == 1 ? step.outer : row_sums_scratch(step.sum, step.inner, 1, step.outer);
}

// Elements of scratch for reduce_sum_on of a tensor of this shape.
inline std::int64_t reduce_sum_scratch(const Shape& shape, const AxisNumbers& axes) {
  ReducedAxes left(shape, axes);
  std::int64_t scratch = 0;
  while (!left.is_done()) scratch += sum_step_scratch(left.take_last());
  return scratch;
}

// Sums over the middle axis of from [outer, sum, inner]. Returns where they are: [outer, inner], in
// the scratch.
template <class Grid>
const float* sum_step_on(Grid& grid, const float* from, const ReducedAxes::Step& step,
                         Tensor scratch) {
  const std::int64_t count = step.sum;
  const std::int64_t inner = step.inner;
  if (inner > 1) {
    return sum_over_rows(grid, step.outer, count, inner, 1, scratch,
                         [=] TRAINYARD_KERNEL(std::int64_t outer, std::int64_t row,
                                              std::int64_t column, std::int64_t) {
                           return from[(outer * count + row) * inner + column];
                         });
  }
  float* const to = scratch.data;
  grid.teams(step.outer, [=] TRAINYARD_KERNEL(std::int64_t outer, typename Grid::Team team) {
    const float* const values = from + outer * count;
    const float sum = team.sum(count, [=](std::int64_t i) { return values[i]; });
    if (team.is_first()) to[outer] = sum;
  });
  return to;
}

// y = function(the sum of x over `axes`), or that much more.
template <class Grid, class Function>
void reduce_sum_on(Grid& grid, ConstTensor x, const AxisNumbers& axes, Tensor y, Write write,
                   Tensor scratch, const Function& function) {
  ENSURE(y.elements() * summed(x.shape, axes) == x.elements());
  ReducedAxes left(x.shape, axes);
  const float* from = x.data;
  float* room = scratch.data;
  while (!left.is_done()) {
    const auto step = left.take_last();
    const std::int64_t needed = sum_step_scratch(step);
    ENSURE(room + needed <= scratch.data + scratch.elements());
    from = sum_step_on(grid, from, step, {room, {needed}});
    room += needed;
  }
  const float* const sums = from;
  float* const to = y.data;
  grid.each(y.elements(),
            [=] TRAINYARD_KERNEL(std::int64_t i) { put(to[i], function(sums[i]), write); });
}

}  // namespace trainyard::runtime
