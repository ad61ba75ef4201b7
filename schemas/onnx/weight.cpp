#include "schemas/onnx/weight.h"

#include <cstddef>
#include <cstdint>

#include "schemas/base/check.h"

namespace trainyard::onnx {

Floats transposed(const Floats& x, const model::Sizes& shape, const std::vector<int>& axes) {
  ENSURE(shape.size() == axes.size());
  const std::size_t rank = shape.size();
  model::Sizes strides(rank, 1);  // of x
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  model::Sizes place(rank, 0);  // in the result
  Floats result;
  result.reserve(x.size());
  std::int64_t from = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    result.push_back(x[static_cast<std::size_t>(from)]);
    for (std::size_t at = rank; at-- > 0;) {
      const auto axis = static_cast<std::size_t>(axes[at]);
      from += strides[axis];
      if (++place[at] < shape[axis]) break;
      from -= strides[axis] * shape[axis];
      place[at] = 0;
    }
  }
  return result;
}

}  // namespace trainyard::onnx
