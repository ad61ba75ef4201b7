#include "runtime/math/ops/reduce.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/ops/cpu/fold.h"
#include "runtime/math/ops/cpu/reduced_axes.h"
#include "runtime/math/ops/cpu/row_tree.h"
#include "runtime/math/ops/cpu/strided.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

void put(float value, float& place, Write write) {
  place = write == Write::add ? place + value : value;
}

void sum_step(const float* from, const ReducedAxes::Step& step, float* to, Write write) {
  for (std::int64_t outer = 0; outer < step.outer; ++outer, from += step.sum * step.inner) {
    if (step.inner == 1) {
      put(fold_sum(step.sum, [&](std::int64_t i) { return from[i]; }), to[outer], write);
      continue;
    }
    for_each_column_strip(step.inner, [&](std::int64_t first, std::int64_t width) {
      const auto sums = sum_of_rows<1>(step.sum, [&](std::int64_t row, RowSums<1>& of_block) {
        const float* const values = from + row * step.inner + first;
#pragma GCC ivdep
        for (std::int64_t i = 0; i < width; ++i) {
          of_block[0][static_cast<std::size_t>(i)] += values[i];
        }
      });
      float* const into = to + outer * step.inner + first;
      for (std::int64_t i = 0; i < width; ++i) {
        put(sums[0][static_cast<std::size_t>(i)], into[i], write);
      }
    });
  }
}

struct Largest {
  float value = 0;
  std::int64_t place = 0;
};

Largest largest_of(const float* values, const StridedLoops<1>& loops) {
  Largest best{values[0], 0};
  const std::int64_t run = loops.rank() == 0 ? 1 : loops.size(loops.rank() - 1);
  const std::int64_t stride = loops.rank() == 0 ? 1 : loops.strides(loops.rank() - 1)[0];
  loops.for_each(1, [&](const auto& at) {
    for (std::int64_t i = 0; i < run; ++i) {
      const std::int64_t place = at[0] + i * stride;
      if (best.value < values[place]) best = {values[place], place};
    }
  });
  return best;
}

}  // namespace

std::int64_t reduce_scratch(const Shape& shape, const AxisNumbers& axes) {
  ReducedAxes left(shape, axes);
  std::int64_t scratch = 0;
  while (!left.is_done()) {
    const auto step = left.take_last();
    if (!left.is_done()) scratch += round_up_to_alignment(step.outer * step.inner);
  }
  return scratch;
}

void reduce_sum(ConstTensor x, const AxisNumbers& axes, Tensor y, Write write,
                std::span<float> scratch) {
  ENSURE(y.elements() * summed(x.shape, axes) == x.elements());
  ReducedAxes left(x.shape, axes);
  if (left.is_done()) {
    for (std::int64_t i = 0; i < y.elements(); ++i) put(x.data[i], y.data[i], write);
    return;
  }
  const float* from = x.data;
  while (true) {
    const auto step = left.take_last();
    if (left.is_done()) return sum_step(from, step, y.data, write);
    const auto room = static_cast<std::size_t>(round_up_to_alignment(step.outer * step.inner));
    ENSURE(room <= scratch.size());
    sum_step(from, step, scratch.data(), Write::overwrite);
    from = scratch.data();
    scratch = scratch.subspan(room);
  }
}

void reduce_mean(ConstTensor x, const AxisNumbers& axes, Tensor y, std::span<float> scratch) {
  reduce_sum(x, axes, y, Write::overwrite, scratch);
  const auto count = static_cast<float>(summed(x.shape, axes));
  for (float& value : y.span()) value /= count;
}

void reduce_max(ConstTensor x, const AxisNumbers& axes, Tensor y, Tensor places) {
  ENSURE(y.elements() * summed(x.shape, axes) == x.elements() && x.elements() > 0);
  ENSURE(places.elements() == y.elements());
  const KeptAndReduced loops(x.shape, axes);
  loops.kept.for_each(0, [&](const auto& at) {
    const Largest largest = largest_of(x.data + at[0], loops.reduced);
    ENSURE(largest.place <= std::numeric_limits<std::int32_t>::max());
    y.data[at[1]] = largest.value;
    places.data[at[1]] = std::bit_cast<float>(static_cast<std::int32_t>(largest.place));
  });
}

void reduce_sum_gradient(ConstTensor y_gradient, const AxisNumbers& axes, Tensor x_gradient,
                         Write write) {
  const Shape& shape = x_gradient.shape;
  ENSURE(y_gradient.elements() * summed(shape, axes) == shape.elements());
  strided_copy(spread_loops(shape, axes), y_gradient.data, x_gradient.data, write);
}

void reduce_mean_gradient(ConstTensor y_gradient, const AxisNumbers& axes, Tensor x_gradient,
                          Write write, std::span<float> scratch) {
  ENSURE(std::ssize(scratch) >= y_gradient.elements());
  const auto count = static_cast<float>(summed(x_gradient.shape, axes));
  std::ranges::transform(y_gradient.span(), scratch.begin(),
                         [&](float value) { return value / count; });
  reduce_sum_gradient({scratch.data(), y_gradient.shape}, axes, x_gradient, write);
}

void reduce_max_gradient(ConstTensor y_gradient, ConstTensor places, const AxisNumbers& axes,
                         Tensor x_gradient, Write write) {
  if (write == Write::overwrite) std::ranges::fill(x_gradient.span(), 0.0F);
  const KeptAndReduced loops(x_gradient.shape, axes);
  loops.kept.for_each(0, [&](const auto& at) {
    const auto place = std::bit_cast<std::int32_t>(places.data[at[1]]);
    x_gradient.data[at[0] + place] += y_gradient.data[at[1]];
  });
}

}  // namespace trainyard::runtime
