// Nested loops over the axes of several tensors at once, each with steps of its own in memory: 0
// where the same element is met again. Axes that lie behind one another in all of them become one.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

template <std::size_t count>
class StridedLoops {
 public:
  using Offsets = std::array<std::int64_t, count>;

  // The next axis inwards, and how far apart its elements are in each tensor.
  void add_axis(std::int64_t size, const Offsets& strides) {
    if (size == 1) return;
    if (rank_ > 0 && continues(size, strides)) {
      sizes_[rank_ - 1] *= size;
      strides_[rank_ - 1] = strides;
      return;
    }
    ENSURE(rank_ < Shape::rank_max);
    sizes_[rank_] = size;
    strides_[rank_++] = strides;
  }

  [[nodiscard]] std::size_t rank() const { return rank_; }
  [[nodiscard]] std::int64_t size(std::size_t axis) const { return sizes_[axis]; }
  [[nodiscard]] const Offsets& strides(std::size_t axis) const { return strides_[axis]; }

  // Axes `a` and `b` change places: other elements come first.
  void swap(std::size_t a, std::size_t b) {
    std::swap(sizes_[a], sizes_[b]);
    std::swap(strides_[a], strides_[b]);
  }

  // visit(offsets) at the first element of each of the innermost `inner` axes, in order.
  template <class Visit>
  void for_each(std::size_t inner, Visit visit) const {
    const std::size_t outer = rank_ > inner ? rank_ - inner : 0;
    for (std::size_t axis = 0; axis < outer; ++axis) {
      if (sizes_[axis] == 0) return;
    }
    std::array<std::int64_t, Shape::rank_max> index{};
    Offsets at{};
    while (true) {
      visit(at);
      std::size_t axis = outer;
      while (axis > 0 && ++index[axis - 1] == sizes_[axis - 1]) {
        step(at, axis - 1, 1 - sizes_[axis - 1]);
        index[--axis] = 0;
      }
      if (axis == 0) return;
      step(at, axis - 1, 1);
    }
  }

 private:
  [[nodiscard]] bool continues(std::int64_t size, const Offsets& strides) const {
    for (std::size_t i = 0; i < count; ++i) {
      if (strides_[rank_ - 1][i] != size * strides[i]) return false;
    }
    return true;
  }

  void step(Offsets& at, std::size_t axis, std::int64_t steps) const {
    for (std::size_t i = 0; i < count; ++i) at[i] += steps * strides_[axis][i];
  }

  std::size_t rank_ = 0;
  std::array<std::int64_t, Shape::rank_max> sizes_{};
  std::array<Offsets, Shape::rank_max> strides_{};
};

// How far apart the elements of each axis are in a tensor without gaps.
inline std::array<std::int64_t, Shape::rank_max> strides_of(const Shape& shape) {
  std::array<std::int64_t, Shape::rank_max> strides{};
  std::int64_t stride = 1;
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

// Tensor 0 is read, tensor 1 is written.
using CopyLoops = StridedLoops<2>;
void strided_copy(CopyLoops loops, const float* from, float* to, Write write);

}  // namespace trainyard::runtime
