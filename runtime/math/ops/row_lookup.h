// Rows of an embedding table by place: each id's own, where RowPool adds them up. Gradients of one
// row are added in the order of the places: the same bits everywhere.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

struct RowLookup {
  std::span<const std::int32_t> places;  // by id: its row
  std::int64_t width = 0;                // of a row
  std::int64_t first = 0;                // the first column that is read
};

// found [.., columns] = rows[place][first + column]. rows [rows, width].
void look_up_rows(const RowLookup& lookup, std::span<const float> rows, Tensor found);

// Adds to `gradients` [rows, width], in the columns that were read.
void look_up_rows_gradient(const RowLookup& lookup, ConstTensor found_gradient,
                           std::span<float> gradients);

}  // namespace trainyard::runtime
