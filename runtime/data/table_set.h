// Rows of numbers with a class or a real target each: what CSV files become.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/data/row_split.h"

namespace trainyard::runtime {

// Of labels and targets one is empty, as in Batch.
struct Table {
  std::span<const float> features;  // [rows x features]
  std::span<const std::int32_t> labels;
  std::span<const float> targets;
  std::shared_ptr<const void> owner;  // of all of them
};

class TableSet final : public Dataset {
 public:
  TableSet(DataShape shape, Table table, SplitRows rows);

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::int64_t size(Split split) const override;

 private:
  [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override;
  [[nodiscard]] const std::vector<std::int64_t>& rows(Split split) const;

  DataShape shape_;
  Table table_;
  SplitRows rows_;
};

}  // namespace trainyard::runtime
