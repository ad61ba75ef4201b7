#include "runtime/net/cut.h"

#include <algorithm>
#include <utility>

namespace trainyard::runtime {

Cut::Cut(std::int64_t step, ParameterShard shard, std::int64_t version,
         std::vector<std::int64_t> rank_steps, std::int64_t lost)
    : step_(step),
      shard_(std::move(shard)),
      version_(version),
      rank_steps_(std::move(rank_steps)),
      lost_(lost),
      open_(rank_steps_.size(), true) {}

bool Cut::wants(std::int64_t rank) const { return open_[static_cast<std::size_t>(rank)]; }

void Cut::apply(std::int64_t rank, std::int64_t rank_step, const ParameterShard::SumFrom& gradient,
                const ParameterShard::Update& update) {
  shard_.apply(gradient, update);
  ++version_;
  rank_steps_[static_cast<std::size_t>(rank)] = rank_step;
}

void Cut::apply_rows(const RowGradients& gradients, const RowTable::Update& update) {
  if (rows_) rows_->apply(gradients, update);
}

void Cut::close(std::int64_t rank, const LeafResiduals& residuals) {
  open_[static_cast<std::size_t>(rank)] = false;
  residuals_.insert(residuals_.end(), residuals.begin(), residuals.end());
}

bool Cut::is_complete() const { return std::ranges::find(open_, true) == open_.end(); }

Snapshot Cut::take() && {
  return {.step = step_,
          .version = version_,
          .rank_steps = std::move(rank_steps_),
          .lost = lost_,
          .weights = shard_.weights(),
          .slots = shard_.lend_slots(),
          .residuals = std::move(residuals_),
          .rows = std::move(rows_)};
}

}  // namespace trainyard::runtime
