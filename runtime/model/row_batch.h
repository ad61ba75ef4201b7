// The rows of an embedding table that a batch touches: which they are, their values and gradients.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/graph/kernels.h"
#include "runtime/math/rows/row_bags.h"
#include "runtime/math/rows/row_gradients.h"
#include "runtime/math/sparse_rows.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

class RowBatch {
 public:
  explicit RowBatch(std::int64_t width) : width_(width) {}

  // Finds the distinct columns of x, which are the rows' ids. Buffers are reused.
  void assign(const SparseRows& x);

  [[nodiscard]] std::span<const std::int64_t> ids() const { return ids_; }  // ascending
  [[nodiscard]] std::span<float> rows() { return rows_; }  // [ids, width], for the caller to fill

  // In place of rows(), until the next assign(): bags of x, some of whose sums are made already.
  [[nodiscard]] BagView bags(const SparseRows& x) const { return {ids_, x.view(), places_}; }
  void take(PooledBags pooled) { pooled_ = std::move(pooled); }

  void clear_gradients() { gradients_.assign(vectors().size(), 0.0F); }
  // What Model::gradient has left. A copy; not where bags were taken.
  [[nodiscard]] RowGradients gradients() const {
    ENSURE(!pooled_);
    return {.ids = ids_, .rows = gradients_};
  }
  // Of what was taken: of its vectors.
  [[nodiscard]] std::span<const float> vector_gradients() const { return gradients_; }

  [[nodiscard]] RowFeed feed() {
    RowFeed feed{.places = places_, .rows = vectors(), .gradients = gradients_, .width = width_};
    if (pooled_) {
      feed.places = pooled_->x.columns;
      feed.pooled = pooled_->x.view();
    }
    return feed;
  }

 private:
  [[nodiscard]] std::span<const float> vectors() const {
    return pooled_ ? pooled_->vectors : rows_;
  }

  std::int64_t width_;
  std::vector<std::int64_t> ids_;
  std::vector<std::int32_t> places_;  // by element of x: the position of its id
  std::vector<float> rows_;
  std::optional<PooledBags> pooled_;
  std::vector<float> gradients_;
  std::vector<std::uint64_t> order_;  // kept for its memory
  std::vector<std::uint64_t> spare_;
};

}  // namespace trainyard::runtime
