// Largest values over axes on a grid, as reduce_max has them (math/ops/reduce.h): of equal ones the
// first; NaN loses unless it comes first.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "runtime/graph/grid/elements.h"
#include "runtime/graph/grid/strides.h"
#include "runtime/graph/grid/team.h"
#include "runtime/math/ops/cpu/reduced_axes.h"
#include "runtime/math/ops/layout.h"
#include "runtime/math/tensor.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

// Of two of these the larger one is that of the larger value, or of the first of equal ones: they
// may be compared in any order. 0 is below all.
using RankedPlace = std::uint64_t;

TRAINYARD_BOTH inline RankedPlace ranked(float value, std::int64_t place) {
  if (!(value == value)) return 0;
  const float unsigned_zero = value == 0.0F ? 0.0F : value;
  const auto bits = std::bit_cast<std::uint32_t>(unsigned_zero);
  constexpr std::uint32_t sign = 0x80000000U;
  const std::uint32_t order = (bits & sign) != 0 ? ~bits : bits | sign;
  return RankedPlace{order} << 32 | (0xFFFFFFFFU - static_cast<std::uint32_t>(place));
}

// NaN has no place: there the first one is the largest, whatever it is.
TRAINYARD_BOTH inline std::int64_t place_of(RankedPlace largest, float first) {
  if (largest == 0 || !(first == first)) return 0;
  return static_cast<std::int64_t>(0xFFFFFFFFU - static_cast<std::uint32_t>(largest));
}

// Which elements become one: by their number among these.
struct ReducedPlaces {
  Strides<1> reduced;
  Strides<2> kept;  // x, y

  ReducedPlaces(const Shape& shape, const AxisNumbers& axes) {
    const KeptAndReduced loops(shape, axes);
    reduced = strides_over<1>(loops.reduced);
    kept = strides_over<2>(loops.kept);
    ENSURE(reduced.elements <= std::numeric_limits<std::int32_t>::max());
  }
};

// places [elements of y]: which one it is, as the bits of a 32-bit number.
template <class Grid>
void reduce_max_on(Grid& grid, ConstTensor x, const AxisNumbers& axes, Tensor y, Tensor places) {
  const ReducedPlaces where(x.shape, axes);
  const Strides<1> reduced = where.reduced;
  const Strides<2> kept = where.kept;
  const std::int64_t count = reduced.elements;
  const float* const from = x.data;
  float* const to = y.data;
  float* const of = places.data;
  // One thread for each, where they are many, and neighbours of y are neighbours of x.
  constexpr std::int64_t many = 1 << 14;
  const bool is_last_kept = kept.axes > 0 && kept.steps[kept.axes - 1][0] == 1;
  if (kept.elements >= many && is_last_kept) {
    grid.each(kept.elements, [=] TRAINYARD_KERNEL(std::int64_t i) {
      const float* const values = from + kept.at(i).of[0];
      float largest = values[0];
      std::int64_t place = 0;
      for (std::int64_t n = 1; n < count; ++n) {
        const float value = values[reduced.at(n).of[0]];
        if (!(largest < value)) continue;
        largest = value;
        place = n;
      }
      to[i] = largest;
      of[i] = std::bit_cast<float>(static_cast<std::int32_t>(place));
    });
    return;
  }
  grid.teams(kept.elements, [=] TRAINYARD_KERNEL(std::int64_t i, typename Grid::Team team) {
    const float* const values = from + kept.at(i).of[0];
    const RankedPlace largest = team.fold(
        count, RankedPlace{0},
        [&](std::int64_t n) { return ranked(values[reduced.at(n).of[0]], n); },
        [](RankedPlace a, RankedPlace b) { return a < b ? b : a; });
    if (!team.is_first()) return;
    const std::int64_t place = place_of(largest, values[0]);
    to[i] = values[reduced.at(place).of[0]];
    of[i] = std::bit_cast<float>(static_cast<std::int32_t>(place));
  });
}

template <class Grid>
void reduce_max_gradient_on(Grid& grid, ConstTensor y_gradient, ConstTensor places,
                            const AxisNumbers& axes, Tensor x_gradient, Write write) {
  if (write == Write::overwrite) fill_on(grid, x_gradient, 0.0F);
  const ReducedPlaces where(x_gradient.shape, axes);
  const Strides<1> reduced = where.reduced;
  const Strides<2> kept = where.kept;
  const float* const upstream = y_gradient.data;
  const float* const of = places.data;
  float* const to = x_gradient.data;
  grid.each(kept.elements, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const auto place = std::bit_cast<std::int32_t>(of[i]);
    to[kept.at(i).of[0] + reduced.at(place).of[0]] += upstream[i];
  });
}

}  // namespace trainyard::runtime
