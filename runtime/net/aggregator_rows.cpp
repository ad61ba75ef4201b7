// The embedding table's part of an aggregator.
#include <utility>

#include "runtime/net/aggregator.h"
#include "runtime/net/row_frame.h"

namespace trainyard::runtime {

RowTable::Update Aggregator::row_update(const ParameterShard::Update& update) {
  return {.learning_rate = update.learning_rate,
          .step = update.step,
          .gradient_scale = update.gradient_scale};
}

Result<std::vector<float>> Aggregator::read_rows(std::span<const std::int64_t> ids) const {
  if (!rows_) return invalid("this job has no embedding table");
  if (std::ssize(ids) > row_message_floats_max / rows_->width()) {
    return invalid(std::to_string(ids.size()) + " rows of " + std::to_string(rows_->width()) +
                   " floats are more than a message holds");
  }
  std::vector<float> rows(ids.size() * static_cast<std::size_t>(rows_->width()));
  TRY(rows_->read(ids, rows));
  return rows;
}

Status Aggregator::stage_rows(std::int64_t rank, std::int64_t step,
                              std::vector<RowGradients> parts) {
  if (!rows_) return invalid("this job has no embedding table");
  if (parts_of(rank) != std::ssize(parts)) {
    return invalid(std::to_string(parts.size()) + " parts of rows from rank " +
                   std::to_string(rank) + ", which has " + std::to_string(parts_of(rank)));
  }
  // What else may be wrong with the step the push that follows is told.
  if (!would_take(rank, step)) return ok();
  return rows_->stage(rank, step, std::move(parts));
}

// The sum of what was applied to the table's rows; nothing where there is no table.
RowGradients Aggregator::apply_rows(const ParameterShard::Update& update) {
  if (!rows_) return {};
  std::vector<std::int64_t> ranks;
  for (const auto& push : pending_) {
    if (push) ranks.push_back(push->rank);
  }
  RowGradients sum = rows_->take_sum(ranks, order_);
  rows_->table().apply(sum, row_update(update));
  return sum;
}

}  // namespace trainyard::runtime
