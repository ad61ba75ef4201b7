// The embedding tables of a model, or a ps' share of them, as one space of rows
// (runtime/core/row_layout.h): what a caller says of rows, of whichever tables, goes to their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/core/row_layout.h"
#include "runtime/math/optim/optimizer.h"
#include "runtime/math/rows/row_gradients.h"
#include "runtime/math/rows/row_table.h"

namespace trainyard::runtime {

class RowTables {
 public:
  RowTables(RowLayout layout, std::uint64_t seed, const OptimizerConfig& optimizer);

  // As RowTable has them. Rows are those that widths() has.
  [[nodiscard]] RowTables fork();
  void read(std::span<const std::int64_t> rows, std::span<float> floats) const;
  void apply(const RowGradients& gradients, const RowTable::Update& update,
             std::span<float> before = {});

  [[nodiscard]] const RowLayout& layout() const { return layout_; }
  [[nodiscard]] const RowWidths& widths() const { return widths_; }
  [[nodiscard]] RowTable& table(std::int64_t number) {
    return tables_[static_cast<std::size_t>(number)];
  }
  [[nodiscard]] const RowTable& table(std::int64_t number) const {
    return tables_[static_cast<std::size_t>(number)];
  }
  // Rows of all of them.
  [[nodiscard]] std::size_t size() const;

 private:
  RowTables(RowLayout layout, RowWidths widths) : layout_(std::move(layout)), widths_(widths) {}

  RowLayout layout_;
  RowWidths widths_;
  std::vector<RowTable> tables_;
};

}  // namespace trainyard::runtime
