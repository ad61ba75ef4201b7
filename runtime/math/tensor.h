// Tensors as views: a shape over memory that belongs to somebody else. Row-major, 32-bit floats.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "schemas/base/check.h"

namespace trainyard::runtime {

class Shape {
 public:
  static constexpr std::size_t rank_max = 7;  // six axes of an example, and that of the batch

  constexpr Shape() = default;  // rank 0: one element
  constexpr Shape(std::initializer_list<std::int64_t> sizes) {
    for (const std::int64_t size : sizes) append(size);
  }
  explicit constexpr Shape(std::span<const std::int64_t> sizes) {
    for (const std::int64_t size : sizes) append(size);
  }

  constexpr void append(std::int64_t size) {
    ENSURE(rank_ < rank_max && size >= 0);
    sizes_[rank_++] = size;
  }

  [[nodiscard]] constexpr std::size_t rank() const { return rank_; }
  [[nodiscard]] constexpr std::int64_t operator[](std::size_t axis) const { return sizes_[axis]; }
  [[nodiscard]] constexpr std::span<const std::int64_t> sizes() const {
    return std::span(sizes_).first(rank_);
  }

  [[nodiscard]] constexpr std::int64_t elements() const {
    std::int64_t product = 1;
    for (std::size_t axis = 0; axis < rank_; ++axis) product *= sizes_[axis];
    return product;
  }

  // As a matrix: the last axis is the columns, all before it together are the rows.
  [[nodiscard]] constexpr std::int64_t columns() const {
    return rank_ == 0 ? 1 : sizes_[rank_ - 1];
  }
  [[nodiscard]] constexpr std::int64_t rows() const {
    std::int64_t product = 1;
    for (std::size_t axis = 0; axis + 1 < rank_; ++axis) product *= sizes_[axis];
    return product;
  }

  bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, rank_max> sizes_{};  // zero beyond rank_
  std::size_t rank_ = 0;
};

template <class T>
struct View {
  T* data = nullptr;  // null: no tensor at all
  Shape shape;

  [[nodiscard]] std::int64_t elements() const { return shape.elements(); }
  [[nodiscard]] std::span<T> span() const { return {data, static_cast<std::size_t>(elements())}; }
  operator View<const T>() const { return {data, shape}; }  // NOLINT: implicit as for pointers
};

using Tensor = View<float>;
using ConstTensor = View<const float>;

// What a gradient does to its place: a value that is used several times collects several gradients.
enum class Write { overwrite, add };

}  // namespace trainyard::runtime
