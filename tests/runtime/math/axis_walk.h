// Tensors by the definition: every element by its index along each axis.
#pragma once

#include <string>
#include <vector>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

using Index = std::vector<std::int64_t>;

inline std::size_t place_at(const Shape& shape, const Index& index) {
  std::int64_t place = 0;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) place = place * shape[axis] + index[axis];
  return static_cast<std::size_t>(place);
}

// visit(index, place) for each element, in row-major order.
template <class Visit>
void for_each_index(const Shape& shape, Visit visit) {
  Index index(shape.rank());
  for (std::int64_t place = 0; place < shape.elements(); ++place) {
    std::int64_t rest = place;
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      index[axis] = rest % shape[axis];
      rest /= shape[axis];
    }
    visit(index, static_cast<std::size_t>(place));
  }
}

inline std::string text_of(const Shape& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape.sizes()) text += std::to_string(size) + " ";
  return text + "]";
}

inline Shape shape_of(const std::vector<std::int64_t>& sizes) { return Shape(sizes); }

}  // namespace trainyard::runtime
