// Rows of numbers and ids, with a label or without: what files of format recsys become.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/data/row_split.h"

namespace trainyard::runtime {

struct RecsysTable {
  std::span<const float> numbers;     // [rows x DataShape::features without log frequencies]
  std::span<const std::int32_t> ids;  // [rows x columns], each counted from 0 in its column
  std::int64_t columns = 0;
  std::span<const std::int32_t> labels;  // of labels and targets one is empty, or both
  std::span<const float> targets;
  std::string words{};                  // Dataset::words()
  std::shared_ptr<const void> owner{};  // of the spans
};

// A column of the table in a field, whose ids there begin at `first_id`.
struct FieldColumn {
  std::int64_t column = 0;
  std::int32_t first_id = 0;
};

class RecsysSet final : public Dataset {
 public:
  // `fields`: of each of shape.id_fields its columns; `counted`: of each of
  // shape.log_frequency_fields the column of ids whose frequency follows the numbers.
  RecsysSet(DataShape shape, RecsysTable table, std::vector<std::vector<FieldColumn>> fields,
            std::vector<std::int64_t> counted, SplitRows rows);

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::int64_t size(Split split) const override;
  [[nodiscard]] std::string_view words() const override { return table_.words; }
  [[nodiscard]] Status prepare(Split split) const override;

 private:
  [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override;
  [[nodiscard]] const std::vector<std::int64_t>& rows(Split split) const;

  DataShape shape_;
  RecsysTable table_;
  std::vector<std::vector<FieldColumn>> fields_;
  std::vector<std::int64_t> counted_;
  SplitRows rows_;
  // Made when the first split is prepared: who asks for the shape alone does not need them.
  mutable std::once_flag are_counted_;
  mutable std::vector<std::vector<float>> log_frequencies_;  // by counted column: [rows]
};

}  // namespace trainyard::runtime
