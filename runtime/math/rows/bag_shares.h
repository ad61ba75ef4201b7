// A batch's bags, shared out among the ps that hold its rows, and put together again.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/row_mode.h"
#include "runtime/math/rows/row_bags.h"

namespace trainyard::runtime {

// The part of one ps.
struct BagShare {
  std::vector<std::int64_t> ids;  // ascending
  // Of each example that has some of them; columns are places in `ids`.
  SparseRows bags{.offsets = {0}, .columns = {}, .values = {}};
  std::vector<std::int64_t> examples;  // by bag, ascending
  RowMode mode = RowMode::rows;

  // What the ps gives out, and takes gradients of: rows or bags.
  [[nodiscard]] std::int64_t vectors() const {
    return mode == RowMode::bags ? std::ssize(examples) : std::ssize(ids);
  }
};

// By ps; each in the mode that is fewer bytes.
std::vector<BagShare> share_bags(const BagView& batch, std::int64_t owners, std::int64_t width);

// The batch's examples in terms of the shares' vectors, one share after another, in the order of
// the ps: a sum that a ps has made is an element of value 1.
SparseRows join_bags(const std::vector<BagShare>& shares, std::int64_t examples);

}  // namespace trainyard::runtime
