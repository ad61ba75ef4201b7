// Sparse examples with a class each: what LibSVM files become.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/data/row_split.h"

namespace trainyard::runtime {

struct SparseTable {
  SparseView rows;
  std::span<const std::int32_t> labels;  // a class for each row
  std::shared_ptr<const void> owner;     // of all of them
};

class SparseSet final : public Dataset {
 public:
  // Columns of the table are below shape.features.
  SparseSet(DataShape shape, SparseTable table, SplitRows rows);

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::int64_t size(Split split) const override;

 private:
  [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override;
  [[nodiscard]] const std::vector<std::int64_t>& rows(Split split) const;

  DataShape shape_;
  SparseTable table_;
  SplitRows rows_;
};

}  // namespace trainyard::runtime
