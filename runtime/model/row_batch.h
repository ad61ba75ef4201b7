// The rows of embedding tables that a batch touches: which they are, their values and gradients.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/core/row_layout.h"
#include "runtime/data/dataset.h"
#include "runtime/graph/kernels.h"
#include "runtime/math/rows/row_bags.h"
#include "runtime/math/rows/row_gradients.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

// Which of a batch's ids are a table's.
struct RowSource {
  enum class Kind { sparse, ids } kind = Kind::sparse;  // sparse: its columns
  IdField field{};                                      // ids
};

class RowBatch {
 public:
  // `sources`: by table.
  RowBatch(RowWidths widths, std::vector<RowSource> sources);

  // Finds the batch's distinct rows. Buffers are reused.
  void assign(const Batch& batch);

  [[nodiscard]] std::span<const std::int64_t> ids() const { return ids_; }  // ascending
  // Of these, one after another, for the caller to fill.
  [[nodiscard]] std::span<float> rows() { return rows_; }

  // In place of rows(), until the next assign(): bags of x, some of whose sums are made already. Of
  // a single table of sparse features.
  [[nodiscard]] bool has_bags() const {
    return tables_.size() == 1 && tables_[0].source.kind == RowSource::Kind::sparse;
  }
  [[nodiscard]] BagView bags(const SparseRows& x) const {
    ENSURE(has_bags());
    return {ids_, x.view(), tables_[0].places};
  }
  void take(PooledBags pooled) { pooled_ = std::move(pooled); }

  void clear_gradients() { gradients_.assign(vectors().size(), 0.0F); }
  // What Model::gradient has left. A copy; not where bags were taken.
  [[nodiscard]] RowGradients gradients() const {
    ENSURE(!pooled_);
    return {.ids = ids_, .rows = gradients_};
  }
  // Of what was taken: of its vectors.
  [[nodiscard]] std::span<const float> vector_gradients() const { return gradients_; }

  // By table; until this changes.
  [[nodiscard]] std::span<const RowFeed> feeds();

 private:
  struct Table {
    RowSource source;
    std::vector<std::int32_t> places{};  // by element: its row, of this table's in the batch
    std::size_t first_float = 0;         // of its rows
    std::size_t floats = 0;
  };

  void assign_table(std::int64_t number, std::span<const std::int32_t> elements);
  [[nodiscard]] std::span<const float> vectors() const {
    return pooled_ ? pooled_->vectors : rows_;
  }

  RowWidths widths_;
  std::vector<Table> tables_;
  std::vector<std::int64_t> ids_;
  std::vector<float> rows_;
  std::optional<PooledBags> pooled_;
  std::vector<float> gradients_;
  std::vector<RowFeed> feeds_;
  std::vector<std::uint64_t> order_;  // kept for its memory
  std::vector<std::uint64_t> spare_;
};

}  // namespace trainyard::runtime
