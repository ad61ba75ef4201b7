// Rows of numbers and ids, with a label or without: what files of format recsys become.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/data/row_split.h"

namespace trainyard::runtime {

// How frequent the id is that each row has in a column: of the rows of training, of which some id
// has n of N, log(max(n, 1) / N).
std::vector<float> log_frequencies(std::span<const std::int32_t> ids, std::int64_t columns,
                                   std::int64_t column, std::span<const std::int64_t> training);

struct RecsysTable {
  std::span<const float> numbers;     // [rows x DataShape::features]
  std::span<const std::int32_t> ids;  // [rows x columns], each counted from 0 in its column
  std::int64_t columns = 0;
  std::vector<std::vector<float>> log_frequencies{};  // [rows] each, which follow the numbers
  std::span<const std::int32_t> labels;               // of labels and targets one is empty, or both
  std::span<const float> targets;
  std::shared_ptr<const void> owner{};  // of all of them
};

// A column of the table in a field, whose ids there begin at `first_id`.
struct FieldColumn {
  std::int64_t column = 0;
  std::int32_t first_id = 0;
};

class RecsysSet final : public Dataset {
 public:
  // `fields`: of each of shape.id_fields its columns.
  RecsysSet(DataShape shape, RecsysTable table, std::vector<std::vector<FieldColumn>> fields,
            SplitRows rows);

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::int64_t size(Split split) const override;

 private:
  [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override;
  [[nodiscard]] const std::vector<std::int64_t>& rows(Split split) const;

  DataShape shape_;
  RecsysTable table_;
  std::vector<std::vector<FieldColumn>> fields_;
  SplitRows rows_;
};

}  // namespace trainyard::runtime
