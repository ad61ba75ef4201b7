// The rows of an embedding table that a batch touches: which they are, their values and gradients.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/graph/kernels.h"
#include "runtime/math/rows/row_gradients.h"
#include "runtime/math/sparse_rows.h"

namespace trainyard::runtime {

class RowBatch {
 public:
  explicit RowBatch(std::int64_t width) : width_(width) {}

  // Finds the distinct columns of x, which are the rows' ids. Buffers are reused.
  void assign(const SparseRows& x);

  [[nodiscard]] std::span<const std::int64_t> ids() const { return ids_; }  // ascending
  [[nodiscard]] std::span<float> rows() { return rows_; }  // [ids, width], for the caller to fill

  void clear_gradients() { gradients_.assign(rows_.size(), 0.0F); }
  // What Model::gradient has left. A copy.
  [[nodiscard]] RowGradients gradients() const { return {.ids = ids_, .rows = gradients_}; }

  [[nodiscard]] RowFeed feed() {
    return {.places = places_, .rows = rows_, .gradients = gradients_, .width = width_};
  }

 private:
  std::int64_t width_;
  std::vector<std::int64_t> ids_;
  std::vector<std::int32_t> places_;  // by element of x: the position of its id
  std::vector<float> rows_;
  std::vector<float> gradients_;
  std::vector<std::uint64_t> order_;  // kept for its memory
  std::vector<std::uint64_t> spare_;
};

}  // namespace trainyard::runtime
