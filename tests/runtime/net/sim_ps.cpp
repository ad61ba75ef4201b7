#include "tests/runtime/net/sim_ps.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace trainyard::runtime::test {
namespace {

std::size_t index_of(std::int64_t rank) { return static_cast<std::size_t>(rank); }

}  // namespace

SimPs::SimPs(Aggregator::Rules rules, Shard first)
    : rules_(std::move(rules)), first_(std::move(first)) {
  begin(first_, false);
}

void SimPs::begin(const Shard& shard, bool again) {
  const std::size_t ranks = index_of(rules_.gate.ranks);
  begun_with_ = shard;
  begun_with_.rank_steps.resize(ranks);
  lost_by_rank_.assign(ranks, 0);
  for (std::size_t rank = 0; rank < ranks && rules_.gate.mode == Mode::async; ++rank) {
    lost_by_rank_[rank] =
        begun_with_.rank_steps[rank] - static_cast<std::int64_t>(shard.weights[rank]);
  }
  told_.assign(ranks, false);
  given_up_.assign(ranks, false);
  acknowledged_.assign(ranks, 0);
  is_back_ = again;
  counted_ = !again;
  snapshots.clear();
  seats.assign(ranks, std::nullopt);
  AlignedBuffer weights(shard.weights.size());
  std::ranges::copy(shard.weights, weights.span().begin());
  Aggregator::Start start{
      .version = shard.version, .rank_steps = shard.rank_steps, .lost = shard.lost};
  if (again) start.first_steps = first_.rank_steps;
  aggregator_ = std::make_unique<Aggregator>(
      rules_, ParameterShard({}, std::move(weights), {}), std::move(start),
      [this](Snapshot snapshot) {
        durable_.push_back(
            {.version = snapshot.version,
             .rank_steps = snapshot.rank_steps,
             .weights = {snapshot.weights->span().begin(), snapshot.weights->span().end()},
             .lost = snapshot.lost});
        snapshots.insert_or_assign(snapshot.step, std::move(snapshot));
      });
}

// The newest may not have been written in time.
void SimPs::live_again(std::mt19937_64& random) {
  if (!durable_.empty() && random() % 3 == 0) durable_.pop_back();
  const Shard shard = durable_.empty() ? first_ : durable_.back();
  begin(shard, true);
}

void SimPs::tell(std::int64_t rank, const ToldClock& told) {
  told_[index_of(rank)] = true;
  std::int64_t& acknowledged = acknowledged_[index_of(rank)];
  acknowledged = std::max(acknowledged, told.step);
  const bool goes_on = !aggregator_->awaits_clocks();
  const std::int64_t before = aggregator_->rank_step(rank);
  aggregator_->tell_clock(rank, told);
  // One that was given up and comes after all.
  if (goes_on) lost_by_rank_[index_of(rank)] += aggregator_->rank_step(rank) - before;
  note_losses();
}

void SimPs::see(std::int64_t rank, std::int64_t version) {
  aggregator_->see(rank, version);
  note_losses();
}

void SimPs::give_up(std::int64_t rank) {
  given_up_[index_of(rank)] = true;
  aggregator_->lose(rank, "gone");
  note_losses();
}

// Whatever a rank has told to have pushed, and this life began without, is lost: no more and no
// less, where all have told who know it.
void SimPs::note_losses() {
  if (aggregator_->awaits_clocks() || counted_) return;
  counted_ = true;
  const std::int64_t lost = aggregator_->lost_updates() - begun_with_.lost;
  lost_ += lost;
  std::int64_t sum = 0;
  for (std::size_t rank = 0; rank < told_.size(); ++rank) {
    const std::int64_t more =
        std::max<std::int64_t>(0, acknowledged_[rank] - begun_with_.rank_steps[rank]);
    lost_by_rank_[rank] += more;
    sum += more;
  }
  const bool all_told = std::ranges::find(told_, false) == told_.end();
  heard_all_ &= all_told;
  if (all_told && sum != lost) {
    fault_ = "lost " + std::to_string(sum) + " updates, counted " + std::to_string(lost);
  }
  // What its weights lack in all, of several lives from one shard too.
  const std::int64_t all =
      std::accumulate(lost_by_rank_.begin(), lost_by_rank_.end(), std::int64_t{0});
  if (heard_all_ && all != aggregator_->lost_updates()) {
    fault_ = std::to_string(all) + " updates are lost, counted " +
             std::to_string(aggregator_->lost_updates());
  }
}

std::vector<std::int64_t> SimPs::awaited() const {
  std::vector<std::int64_t> ranks;
  for (std::size_t rank = 0; rank < told_.size() && is_back_; ++rank) {
    if (!told_[rank] && !given_up_[rank]) ranks.push_back(static_cast<std::int64_t>(rank));
  }
  return ranks;
}

std::string SimPs::fault_in(const Snapshot& snapshot) const {
  if (rules_.gate.mode == Mode::sync) return "";
  for (std::size_t rank = 0; rank < snapshot.rank_steps.size(); ++rank) {
    const auto pushes = static_cast<std::int64_t>(snapshot.weights->span()[rank]);
    if (pushes + lost_by_rank_[rank] == snapshot.rank_steps[rank]) continue;
    return "weights hold " + std::to_string(pushes) + " pushes, " +
           std::to_string(lost_by_rank_[rank]) + " are lost, and " +
           std::to_string(snapshot.rank_steps[rank]) + " were counted";
  }
  return "";
}

}  // namespace trainyard::runtime::test
