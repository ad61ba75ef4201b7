// Rows most of whose elements are zero, as compressed rows (CSR): only what is there is stored.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::runtime {

// Somebody else's rows. The elements of row i are those at offsets[i] .. offsets[i + 1] - 1 of
// `columns` and `values`; its columns ascend. There is one offset more than rows.
struct SparseView {
  std::span<const std::int64_t> offsets;
  std::span<const std::int32_t> columns;  // from 0
  std::span<const float> values;

  [[nodiscard]] std::int64_t rows() const { return std::ssize(offsets) - 1; }
};

// The same in memory of its own.
struct SparseRows {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> columns;
  std::vector<float> values;

  [[nodiscard]] SparseView view() const { return {offsets, columns, values}; }
  bool operator==(const SparseRows&) const = default;
};

}  // namespace trainyard::runtime
