// What an aggregator gives to checkpoints: snapshots of a version in sync, cuts in async, and what
// onebit's encoding has lost.
#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/net/aggregator.h"

namespace trainyard::runtime {

LeafResiduals Aggregator::residuals_of(const Push& push) const {
  LeafResiduals residuals;
  if (!push.residuals) return residuals;
  const std::int64_t parts = parts_of(push.rank);
  PayloadReader reader(push.gradient, parts * gradient_bytes(rules_.wire, rules_.share));
  for (std::int64_t part = 0; part < parts; ++part) {
    LeafResidual residual{.leaf = leaves_of_rank(push.rank).begin + part,
                          .values = AlignedBuffer(static_cast<std::size_t>(elements()))};
    reader.read(residual.values.span());
    residuals.push_back(std::make_shared<const LeafResidual>(std::move(residual)));
  }
  return residuals;
}

Result<std::shared_ptr<const LeafResidual>> Aggregator::residual_of(std::int64_t leaf) const {
  const auto found = std::ranges::find_if(
      restored_, [leaf](const auto& residual) { return residual->leaf == leaf; });
  if (found == restored_.end()) return not_found("no residual of leaf " + std::to_string(leaf));
  return *found;
}

// The one push of this commit, in the snapshot that is being made or that it asks for.
void Aggregator::note_in_cut(const RowGradients& rows) {
  const auto push =
      std::ranges::find_if(pending_, [](const auto& each) { return each.has_value(); });
  const std::int64_t rank = (*push)->rank;
  if (cut_ && cut_->wants(rank)) {
    const ParameterShard::Update update = update_to(cut_->version() + 1, (*push)->sums);
    if (rows_) cut_->apply_rows(rows, row_update(update));
    cut_->apply(
        rank, (*push)->step, [this](std::size_t begin) { return sum_of_pushes(begin); }, update);
  }
  const std::int64_t asked = takes_part_in((*push)->snapshot_step) ? (*push)->snapshot_step : 0;
  holds_ = holds_ || (asked > 0 && (*push)->holds);
  if (asked > 0 && (!cut_ || asked > cut_->step())) {
    cut_.emplace(asked, shard_.fork(), gate_.version(), gate_.rank_steps(), lost_updates_);
    if (rows_) cut_->keep_rows(rows_->table().fork());
    for (std::size_t other = 0; other < lost_.size(); ++other) {
      if (lost_[other]) cut_->close(static_cast<std::int64_t>(other));
    }
  }
  if (cut_ && asked == cut_->step()) cut_->close(rank, residuals_);
  residuals_.clear();  // those of one rank are no snapshot's
  finish_cut_if_complete();
}

// Nobody pushes any more once training is over: then it is what it is.
void Aggregator::finish_cut_if_complete() {
  if (!cut_ || (!cut_->is_complete() && !gate_.finished())) return;
  Snapshot snapshot = std::move(*cut_).take();
  cut_.reset();
  sink_(std::move(snapshot));
}

void Aggregator::snapshot_at(std::int64_t step) {
  if (cut_ && cut_->step() == step) return;
  const bool is_between_steps = !shard_.updated_ahead();
  if ((gate_.version() >= step && is_between_steps) || gate_.finished()) {
    take_snapshot(step);
  } else {
    snapshot_at_ = step;
  }
}

void Aggregator::take_snapshot(std::int64_t step) {
  sink_({.step = step,
         .version = gate_.version(),
         .rank_steps = gate_.rank_steps(),
         .lost = lost_updates_,
         .weights = shard_.weights(),
         .slots = shard_.lend_slots(),
         .residuals = residuals_,
         .rows = rows_ ? std::optional(rows_->table().fork()) : std::nullopt});
}

// Who is in the last snapshot whole pushes no more.
bool Aggregator::is_held(std::size_t rank) const {
  return holds_ && !(cut_ && cut_->wants(static_cast<std::int64_t>(rank)));
}

std::int64_t Aggregator::asked_of(std::int64_t rank) const {
  if (rules_.gate.mode == Mode::sync) return next_snapshot_ > gate_.version() ? next_snapshot_ : 0;
  return cut_ && cut_->wants(rank) ? cut_->step() : 0;
}

}  // namespace trainyard::runtime
