// Gradients of the rows of a table that a batch touches: sparse in the rows, dense within them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::runtime {

// Each id once, ascending; rows [ids, width], one after another.
struct RowGradients {
  std::vector<std::int64_t> ids;
  std::vector<float> rows;
  bool operator==(const RowGradients&) const = default;
};

// left + right. A row that one of them lacks is the other's, to the bit: so the sum of a tree of
// leaves does not depend on how the leaves were grouped into workers.
RowGradients add_rows(const RowGradients& left, const RowGradients& right, std::int64_t width);

// The ids of such a sum.
std::vector<std::int64_t> add_ids(std::span<const std::int64_t> left,
                                  std::span<const std::int64_t> right);

// The sum of parts[i], which are the nodes of `order` (see addition_order in reduction_tree.h).
RowGradients sum_of_rows(std::vector<RowGradients> parts, std::span<const std::int64_t> order,
                         std::int64_t width);

// Those whose rows each of `owners` holds (owner_of_row).
std::vector<RowGradients> split_by_owner(RowGradients gradients, std::int64_t owners,
                                         std::int64_t width);

}  // namespace trainyard::runtime
