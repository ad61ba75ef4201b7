// Where the elements of some tensors lie that are walked together: what a kernel takes along.
#pragma once

#include <cstdint>
#include <limits>

#include "runtime/graph/grid/elements.h"
#include "runtime/math/ops/cpu/strided.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

template <int tensors>
struct Offsets {
  std::int64_t of[tensors];
};

// StridedLoops (ops/cpu/strided.h) by the number of the element.
template <int tensors>
struct Strides {
  static constexpr int axes_max = static_cast<int>(Shape::rank_max);

  int axes = 0;
  bool is_small = true;  // all numbers of elements have 32 bits, whose divisions take less
  std::int64_t elements = 1;
  std::int64_t sizes[axes_max] = {};
  std::int64_t steps[axes_max][tensors] = {};

  // In the order of the loops: the last axis first.
  [[nodiscard]] TRAINYARD_BOTH Offsets<tensors> at(std::int64_t i) const {
    return is_small ? walk(static_cast<std::uint32_t>(i)) : walk(static_cast<std::uint64_t>(i));
  }

 private:
  template <class Number>
  [[nodiscard]] TRAINYARD_BOTH Offsets<tensors> walk(Number i) const {
    Offsets<tensors> at{};
    for (int axis = axes - 1; axis > 0; --axis) {
      const auto size = static_cast<Number>(sizes[axis]);
      add(at, axis, static_cast<std::int64_t>(i % size));
      i /= size;
    }
    add(at, 0, static_cast<std::int64_t>(i));
    return at;
  }

  TRAINYARD_BOTH void add(Offsets<tensors>& at, int axis, std::int64_t i) const {
    for (int tensor = 0; tensor < tensors; ++tensor) at.of[tensor] += i * steps[axis][tensor];
  }
};

// Of the loops' outer axes, without the innermost `inner`.
template <int tensors>
Strides<tensors> strides_over(const StridedLoops<tensors>& loops, std::size_t inner = 0) {
  Strides<tensors> strides;
  strides.axes = static_cast<int>(loops.rank() - inner);
  for (int axis = 0; axis < strides.axes; ++axis) {
    const auto from = static_cast<std::size_t>(axis);
    strides.sizes[axis] = loops.size(from);
    strides.elements *= loops.size(from);
    for (int tensor = 0; tensor < tensors; ++tensor) {
      strides.steps[axis][tensor] = loops.strides(from)[static_cast<std::size_t>(tensor)];
    }
  }
  strides.is_small = strides.elements <= std::numeric_limits<std::int32_t>::max();
  return strides;
}

// A kernel: squares of an image whose rows are read where its columns are written, by way of shared
// memory, so that both sides have neighbours side by side.
template <class Function>
struct TurnedCopy {
  static constexpr int threads = 256;
  static constexpr int side = 32;
  static constexpr int lines = threads / side;

  struct Shared {
    float square[side][side + 1];
  };
  struct Thread {};

  Strides<2> outer;             // read, written
  const float* from = nullptr;  // element (i, j) is from[j * from_stride + i]
  float* to = nullptr;          // and to[i * to_stride + j]
  std::int64_t from_stride = 0;
  std::int64_t to_stride = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t across = 1;  // squares
  std::int64_t squares = 1;
  Write write = Write::overwrite;
  Function function{};

  [[nodiscard]] TRAINYARD_BOTH std::int64_t steps(std::int64_t) const { return 2; }

  TRAINYARD_BOTH void step(std::int64_t block, std::int64_t n, int thread, Shared& shared,
                           Thread&) const {
    const Offsets<2> at = outer.at(block / squares);
    const std::int64_t square = block % squares;
    const std::int64_t row = square / across * side;
    const std::int64_t column = square % across * side;
    const int along = thread % side;
    for (int line = thread / side; line < side; line += lines) {
      if (n == 0 && row + along < rows && column + line < columns) {
        shared.square[line][along] = from[at.of[0] + (column + line) * from_stride + row + along];
      }
      if (n == 1 && row + line < rows && column + along < columns) {
        put(to[at.of[1] + (row + line) * to_stride + column + along],
            function(shared.square[along][line]), write);
      }
    }
  }
};

struct AsItIs {
  TRAINYARD_BOTH float operator()(float value) const { return value; }
};

// strided_copy (ops/cpu/strided.h) of function(number).
template <class Grid, class Function = AsItIs>
void copy_on(Grid& grid, CopyLoops loops, const float* from, float* to, Write write,
             const Function& function = {}) {
  constexpr std::int64_t turned_least = 8;  // shorter sides leave most of a square idle
  const std::size_t last = loops.rank() == 0 ? 0 : loops.rank() - 1;
  for (std::size_t axis = 0; axis < last; ++axis) {
    const bool is_turned =
        loops.strides(axis)[0] == 1 && loops.strides(last)[0] > 1 && loops.strides(last)[1] == 1;
    if (!is_turned || loops.size(axis) < turned_least || loops.size(last) < turned_least) continue;
    loops.swap(axis, last - 1);
    constexpr std::int64_t side = TurnedCopy<Function>::side;
    TurnedCopy<Function> copy{.outer = strides_over<2>(loops, 2), .from = from, .to = to};
    copy.from_stride = loops.strides(last)[0];
    copy.to_stride = loops.strides(last - 1)[1];
    copy.rows = loops.size(last - 1);
    copy.columns = loops.size(last);
    copy.across = (copy.columns + side - 1) / side;
    copy.squares = copy.across * ((copy.rows + side - 1) / side);
    copy.write = write;
    copy.function = function;
    return grid.blocks(copy.squares * copy.outer.elements, copy);
  }
  const Strides<2> strides = strides_over<2>(loops);
  grid.each(strides.elements, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const Offsets<2> at = strides.at(i);
    put(to[at.of[1]], function(from[at.of[0]]), write);
  });
}

// to[i] = function(x[i]), or that much more
template <class Grid, class Function>
void map_more_on(Grid& grid, ConstTensor x, Tensor to, Write write, const Function& function) {
  const float* const from = x.data;
  float* const into = to.data;
  grid.each(to.elements(),
            [=] TRAINYARD_KERNEL(std::int64_t i) { put(into[i], function(from[i]), write); });
}

template <class Grid>
void fill_on(Grid& grid, Tensor to, float value) {
  float* const into = to.data;
  grid.each(to.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) { into[i] = value; });
}

}  // namespace trainyard::runtime
