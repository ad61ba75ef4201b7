// Texts as ids with a class or a real target each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "runtime/data/dataset.h"

namespace trainyard::runtime {

// Examples for training first, those of the test behind them.
struct TokenTable {
  std::span<const std::int64_t> offsets;  // [rows + 1] of `ids`: row i's begin at offsets[i]
  std::span<const std::int32_t> ids;      // 1 .. time a row
  std::span<const std::int32_t> labels;   // [rows], or none
  std::span<const float> targets;         // [rows] where there are no labels
  std::int64_t train_rows = 0;
  std::string_view words{};           // as Dataset::words()
  std::shared_ptr<const void> owner;  // of all of them
};

class TokenSet final : public Dataset {
 public:
  // The shape's layout is ids, its labels are `one`.
  TokenSet(DataShape shape, TokenTable table);

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::int64_t size(Split split) const override;
  [[nodiscard]] std::string_view words() const override { return table_.words; }

 private:
  [[nodiscard]] std::size_t row_of(Split split, std::int64_t index) const;
  // Ids of an example in a batch of these.
  [[nodiscard]] std::int64_t bucket_of(const Selection& selection) const;
  [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override;

  DataShape shape_;
  TokenTable table_;
};

}  // namespace trainyard::runtime
