// How a ps gives out the rows that a batch reads of it: as they are, or summed by example, which is
// less where examples have many ids. Sums that were made by several ps are added up in another
// order than the rows of one, so this is for training whose bits depend on time anyway.
#pragma once

#include <cstdint>

namespace trainyard::runtime {

// Of a batch, the part that one ps holds.
struct RowDemand {
  std::int64_t ids = 0;       // distinct
  std::int64_t bags = 0;      // examples that have some of them
  std::int64_t elements = 0;  // of these examples: an id counts for each
  std::int64_t width = 0;     // of a row, in floats
};

// Bytes of a lookup and of its gradients. Ids go once; rows come, and their gradients go.
constexpr std::int64_t bytes_as_rows(const RowDemand& demand) {
  return demand.ids * (8 + 2 * 4 * demand.width);
}

// A bag has a size, an element the position of its id and a value.
constexpr std::int64_t bytes_as_bags(const RowDemand& demand) {
  return demand.ids * 8 + demand.elements * (4 + 4) + demand.bags * (4 + 2 * 4 * demand.width);
}

enum class RowMode { rows, bags };

constexpr RowMode row_mode(const RowDemand& demand) {
  return bytes_as_bags(demand) < bytes_as_rows(demand) ? RowMode::bags : RowMode::rows;
}

}  // namespace trainyard::runtime
