// Gradients of the rows of embedding tables that a batch touches: sparse in the rows, dense within
// them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/row_layout.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// Each row's name once, ascending (of one table: its id); rows, each as wide as its table's, one
// after another.
struct RowGradients {
  std::vector<std::int64_t> ids;
  std::vector<float> rows;
  bool operator==(const RowGradients&) const = default;
};

// `invalid` where a row is of no table.
Status check_rows(std::span<const std::int64_t> ids, const RowWidths& widths);

// left + right. A row that one of them lacks is the other's, to the bit: so the sum of a tree of
// leaves does not depend on how the leaves were grouped into workers.
RowGradients add_rows(const RowGradients& left, const RowGradients& right, const RowWidths& widths);

// The ids of such a sum.
std::vector<std::int64_t> add_ids(std::span<const std::int64_t> left,
                                  std::span<const std::int64_t> right);

// The sum of parts[i], which are the nodes of `order` (see addition_order in reduction_tree.h).
RowGradients sum_of_rows(std::vector<RowGradients> parts, std::span<const std::int64_t> order,
                         const RowWidths& widths);

// Those whose rows each of `owners` holds (owner_of_row).
std::vector<RowGradients> split_by_owner(RowGradients gradients, std::int64_t owners,
                                         const RowWidths& widths);

}  // namespace trainyard::runtime
