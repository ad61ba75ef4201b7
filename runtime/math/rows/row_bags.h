// Bags of rows: what an example needs of an embedding table is the sum of its rows, each times a
// value, so a ps may give out sums of its rows in place of them, and take the gradients of sums.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/math/rows/row_gradients.h"
#include "runtime/math/sparse_rows.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// A batch as a table sees it. places[i] is where the row of element i of `x` is in `ids`, which are
// distinct and ascend.
struct BagView {
  std::span<const std::int64_t> ids;
  SparseView x;
  std::span<const std::int32_t> places;
};

// The same, some of whose sums are made already: the columns of `x` are places in `vectors` [n,
// width], of which each is a row or a sum of some.
struct PooledBags {
  SparseRows x;
  std::vector<float> vectors;
};

// `invalid` where such bags cannot be: offsets that do not lead from 0 to the number of elements,
// as many values as elements, or a column that is none of `rows`.
Status check_bags(const SparseRows& bags, std::int64_t rows);

// [bags, width]: of each bag the sum of its rows, whose places in rows [n, width] are its columns,
// each times its value. In the order of the elements.
std::vector<float> pool_bags(const SparseRows& bags, std::span<const float> rows,
                             std::int64_t width);

// The gradients of the rows of `ids`, from those of the bags, [bags, width].
RowGradients spread_bags(std::vector<std::int64_t> ids, const SparseRows& bags,
                         std::span<const float> gradients, std::int64_t width);

}  // namespace trainyard::runtime
