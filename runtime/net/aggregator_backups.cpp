// Steps of backup workers: pushes are held until it is decided which of them make the step, and
// then committed as all others are.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "runtime/core/reduction_tree.h"
#include "runtime/net/aggregator.h"

namespace trainyard::runtime {
namespace {

std::string step_of_rank(std::int64_t step, std::int64_t rank) {
  return "step " + std::to_string(step) + " of rank " + std::to_string(rank);
}

}  // namespace

bool Aggregator::would_take(std::int64_t rank, std::int64_t step) const {
  if (!backups_) return gate_.judge(rank, step) == VersionGate::Verdict::accept;
  return gate_.knows(rank) && backups_->judge(rank, step) == BackupSteps::Verdict::hold;
}

void Aggregator::push_among_backups(Push push, Reply reply) {
  const std::int64_t rank = push.rank;
  const std::int64_t step = push.step;
  const bool asks = push.snapshot_step > 0;
  holds_ = holds_ || (asks && push.holds);
  using enum BackupSteps::Verdict;
  switch (backups_->judge(rank, step)) {
    case hold:
      if (rows_ && !rows_->has(rank, step)) {
        return reply(conflict(step_of_rank(step, rank) + " has no gradients of rows"));
      }
      if (asks) backups_->ask_snapshot();
      backups_->hold(rank);
      push.snapshot_step = 0;  // it is decided with the step which version it is of
      pending_[static_cast<std::size_t>(rank)] = std::move(push);
      break;
    case late:
      if (asks) backups_->ask_snapshot();
      backups_->drop(rank, step);
      break;
    case duplicate: break;
    case out_of_order:
      if (gate_.finished()) return pull({.rank = rank}, std::move(reply));
      return reply(conflict(step_of_rank(step, rank) + " cannot follow version " +
                            std::to_string(gate_.version())));
  }
  if (backups_->rules().part == BackupSteps::Part::alone) {
    return ready(rank, step, std::move(reply));
  }
  reply(Answer{.weights = nullptr, .version = gate_.version(), .rank_step = step, .sums = {}});
}

void Aggregator::ready(std::int64_t rank, std::int64_t step, Reply reply) {
  if (!backups_) return reply(invalid("this job has no backup workers"));
  if (gate_.knows(rank) && !backups_->ready(rank, step)) {
    return reply(
        conflict(step_of_rank(step, rank) + " is not held by this ps, or not its to make"));
  }
  pull({.rank = rank, .at_least = step}, std::move(reply));
  commit_if_decided();
}

Status Aggregator::tell(MadeStep made) {
  if (!backups_) return invalid("this job has no backup workers");
  TRY(backups_->check(made));
  if (made.version > gate_.version()) commit_as(std::move(made));
  return ok();
}

std::vector<std::int64_t> Aggregator::dropped_by_rank() const {
  const bool decides = backups_ && backups_->rules().part != BackupSteps::Part::follows;
  return decides ? backups_->dropped() : std::vector<std::int64_t>{};
}

void Aggregator::commit_if_decided() {
  const MadeStep& newest = backups_->newest();
  const bool is_saved = newest.snapshot == newest.version && !backups_->asks_snapshot();
  if (holds_ && is_saved) return;
  if (auto made = backups_->decide()) commit_as(*std::move(made));
}

// Leaves out the pushes of others. The mean is over those that are left, in the order of a tree of
// so many leaves.
void Aggregator::commit_as(MadeStep made) {
  for (std::size_t rank = 0; rank < pending_.size(); ++rank) {
    if (!made.has(static_cast<std::int64_t>(rank))) pending_[rank].reset();
  }
  const std::int64_t count = std::ssize(made.ranks);
  std::vector<Leaves> nodes;
  for (std::int64_t leaf = 0; leaf < count; ++leaf) nodes.push_back({leaf, leaf + 1});
  order_ = addition_order(nodes, count);
  if (made.snapshot == made.version) {
    pending_[static_cast<std::size_t>(made.ranks.front())]->snapshot_step = made.version;
  }
  backups_->commit(std::move(made));
  commit();
}

}  // namespace trainyard::runtime
