// A ps' share of an embedding table, and the gradients of its rows that workers have sent ahead of
// their pushes. It knows no steps of its own: the aggregator says when a step is made.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/math/rows/row_table.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class RowShard {
 public:
  RowShard(RowTable table, std::int64_t ranks);

  // The values of these rows, [ids, width]. `invalid` for an id below 0.
  Status read(std::span<const std::int64_t> ids, std::span<float> rows) const;

  // Keeps a rank's gradients of `step`, one for each of its parts; in place of older ones that no
  // step has taken. `invalid` where ids do not ascend or sizes do not fit.
  Status stage(std::int64_t rank, std::int64_t step, std::vector<RowGradients> parts);
  [[nodiscard]] bool has(std::int64_t rank, std::int64_t step) const;

  // The sum of what these ranks have staged, in the order of the reduction tree; it is taken away.
  RowGradients take_sum(std::span<const std::int64_t> ranks, std::span<const std::int64_t> order);

  [[nodiscard]] RowTable& table() { return table_; }
  [[nodiscard]] std::int64_t width() const { return table_.width(); }

 private:
  struct Staged {
    std::int64_t step = 0;
    std::vector<RowGradients> parts;
  };

  RowTable table_;
  std::vector<std::optional<Staged>> staged_;  // by rank
};

}  // namespace trainyard::runtime
