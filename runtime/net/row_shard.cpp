#include "runtime/net/row_shard.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace trainyard::runtime {

RowShard::RowShard(RowTable table, std::int64_t ranks)
    : table_(std::move(table)), staged_(static_cast<std::size_t>(ranks)) {}

Status RowShard::read(std::span<const std::int64_t> ids, std::span<float> rows) const {
  for (const std::int64_t id : ids) {
    if (id < 0) return invalid("row " + std::to_string(id) + " cannot be: ids are 0 or more");
  }
  table_.read(ids, rows);
  return ok();
}

Status RowShard::stage(std::int64_t rank, std::int64_t step, std::vector<RowGradients> parts) {
  for (const RowGradients& part : parts) {
    const bool ascending =
        std::ranges::adjacent_find(part.ids, std::greater_equal{}) == part.ids.end();
    if (!ascending || (!part.ids.empty() && part.ids.front() < 0)) {
      return invalid("ids of rows must be 0 or more and ascend");
    }
    if (std::ssize(part.rows) != std::ssize(part.ids) * width()) {
      return invalid(std::to_string(part.rows.size()) + " floats for " +
                     std::to_string(part.ids.size()) + " rows of " + std::to_string(width()));
    }
  }
  staged_[static_cast<std::size_t>(rank)] = {step, std::move(parts)};
  return ok();
}

bool RowShard::has(std::int64_t rank, std::int64_t step) const {
  const auto& staged = staged_[static_cast<std::size_t>(rank)];
  return staged && staged->step == step;
}

RowGradients RowShard::take_sum(std::span<const std::int64_t> ranks,
                                std::span<const std::int64_t> order) {
  std::vector<RowGradients> parts;
  for (const std::int64_t rank : ranks) {
    auto staged = std::exchange(staged_[static_cast<std::size_t>(rank)], std::nullopt);
    std::ranges::move(staged->parts, std::back_inserter(parts));
  }
  return sum_of_rows(std::move(parts), order, width());
}

}  // namespace trainyard::runtime
