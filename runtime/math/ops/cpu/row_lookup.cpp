#include "runtime/math/ops/row_lookup.h"

#include <algorithm>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// Calls visit(position, first float of what is read of its row).
template <class Visit>
void for_each_place(const RowLookup& lookup, std::size_t row_floats, Visit visit) {
  for (std::size_t i = 0; i < lookup.places.size(); ++i) {
    const std::size_t row =
        static_cast<std::size_t>(lookup.places[i]) * static_cast<std::size_t>(lookup.width);
    ENSURE(row < row_floats);
    visit(static_cast<std::int64_t>(i), row + static_cast<std::size_t>(lookup.first));
  }
}

void check_shapes(const RowLookup& lookup, const Shape& found) {
  ENSURE(found.elements() == std::ssize(lookup.places) * found.columns());
  ENSURE(lookup.first + found.columns() <= lookup.width);
}

}  // namespace

void look_up_rows(const RowLookup& lookup, std::span<const float> rows, Tensor found) {
  check_shapes(lookup, found.shape);
  const std::int64_t columns = found.shape.columns();
  for_each_place(lookup, rows.size(), [&](std::int64_t position, std::size_t from) {
    std::copy_n(rows.data() + from, columns, found.data + position * columns);
  });
}

void look_up_rows_gradient(const RowLookup& lookup, ConstTensor found_gradient,
                           std::span<float> gradients) {
  check_shapes(lookup, found_gradient.shape);
  const std::int64_t columns = found_gradient.shape.columns();
  for_each_place(lookup, gradients.size(), [&](std::int64_t position, std::size_t into) {
    const float* const from = found_gradient.data + position * columns;
    float* const to = gradients.data() + into;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < columns; ++i) to[i] += from[i];
  });
}

}  // namespace trainyard::runtime
