#include "runtime/core/told_clocks.h"

#include <algorithm>
#include <utility>

namespace trainyard::runtime {

ToldClocks::ToldClocks(std::int64_t version, std::vector<std::int64_t> rank_steps)
    : started_at_(version), first_(std::move(rank_steps)), steps_(first_), ranks_(first_.size()) {}

// The shard may have a push that was never acknowledged: then it is older than nothing.
void ToldClocks::tell(std::int64_t rank, const ToldClock& told) {
  Rank& known = ranks_[index_of(rank)];
  known.clock.step = std::max(known.clock.step, told.step);
  known.clock.version = std::max(known.clock.version, told.version);
  known.clock.snapshot = std::max(known.clock.snapshot, told.snapshot);
  known.clock.pushes = told.pushes;
  known.first_step.reset();  // another process is moved up to the others, as on every ps
  if (told.clock) known.first_step = told.step - *told.clock;
  known.told = true;
  steps_[index_of(rank)] = std::max(steps_[index_of(rank)], told.step);
}

void ToldClocks::give_up(std::int64_t rank) { ranks_[index_of(rank)].given_up = true; }

bool ToldClocks::is_complete() const {
  return std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.told || rank.given_up; });
}

std::optional<std::int64_t> ToldClocks::first_step(std::int64_t rank) const {
  return ranks_[index_of(rank)].first_step;
}

bool ToldClocks::pushes(std::int64_t rank) const {
  const ToldClock& clock = ranks_[index_of(rank)].clock;
  return clock.pushes && clock.step >= steps_[index_of(rank)];
}

std::int64_t ToldClocks::newest_version() const {
  std::int64_t newest = started_at_;
  for (const Rank& rank : ranks_) {
    if (rank.told) newest = std::max({newest, rank.clock.version, rank.seen});
  }
  return newest;
}

// A version that was seen had all that is told, and pushes of ranks that have not told. Of those
// that are told to be under way it may have had each: they come once more.
std::int64_t ToldClocks::version() const {
  std::int64_t counted = started_at_;
  std::int64_t under_way = 0;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    counted += steps_[rank] - first_[rank];
    under_way += pushes(static_cast<std::int64_t>(rank)) ? 1 : 0;
  }
  return std::max(counted, newest_version() - under_way);
}

std::int64_t ToldClocks::newest_snapshot() const {
  std::int64_t newest = 0;
  for (const Rank& rank : ranks_) newest = std::max(newest, rank.clock.snapshot);
  return newest;
}

}  // namespace trainyard::runtime
