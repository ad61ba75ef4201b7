#include "runtime/ps/push_turns.h"

#include <algorithm>

namespace trainyard::runtime {

PushTurns::PushTurns(const Rules& rules, std::vector<std::int64_t> rank_steps) : rules_(rules) {
  for (const std::int64_t step : rank_steps) {
    ranks_.push_back({.first = step, .asked = step, .given = step, .snapshots = {}, .over = {}});
  }
}

std::vector<Turn> PushTurns::ask(std::int64_t rank, std::int64_t step) {
  Rank& asking = ranks_.at(static_cast<std::size_t>(rank));
  if (asking.over && asking.over->step == step) return {*asking.over};
  if (step > asking.given + 1 || step + turns_kept <= asking.given || step <= asking.first)
    return {};
  if (step <= asking.given) {
    return {{rank, step, asking.snapshots[static_cast<std::size_t>(step % turns_kept)]}};
  }
  asking.asked = step;

  std::vector<Turn> turns;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    Rank& waiting = ranks_[i];
    if (waiting.asked == waiting.given || waiting.over) continue;
    const auto number = static_cast<std::int64_t>(i);
    if (rules_.pushes == 0) {
      waiting.over = {number, waiting.asked, mark(waiting), Turn::Says::over};
      turns.push_back(*waiting.over);
    } else if (may_push(waiting)) {
      --rules_.pushes;
      waiting.given = waiting.asked;
      const std::int64_t snapshot = mark(waiting);
      waiting.snapshots[static_cast<std::size_t>(waiting.given % turns_kept)] = snapshot;
      turns.push_back({number, waiting.given, snapshot});
    }
  }
  return turns;
}

bool PushTurns::begin_snapshot(std::int64_t snapshot, AfterSnapshot then) {
  if (snapshot <= snapshot_) return true;  // told again
  const auto is_over = [](const Rank& rank) { return rank.over.has_value(); };
  if (std::ranges::all_of(ranks_, is_over)) return false;
  snapshot_ = snapshot;
  is_last_ = then == AfterSnapshot::stops && !rules_.max_staleness;
  return true;
}

bool PushTurns::may_push(const Rank& rank) const {
  if (is_last_ && rank.marked >= snapshot_) return false;
  if (!rules_.max_staleness) return true;
  const auto pushed = [](const Rank& one) {
    return std::max(one.asked - 1, one.first) - one.first;
  };
  std::int64_t slowest = pushed(rank);
  for (const Rank& one : ranks_) slowest = std::min(slowest, pushed(one));
  return pushed(rank) - slowest <= *rules_.max_staleness;
}

std::int64_t PushTurns::mark(Rank& rank) const {
  if (rank.marked >= snapshot_) return 0;
  rank.marked = snapshot_;
  return snapshot_;
}

}  // namespace trainyard::runtime
