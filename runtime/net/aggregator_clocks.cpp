// How far the ranks are in asynchronous training: who has to wait for slower ones, and where a ps
// goes on that was started again.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "runtime/net/aggregator.h"

namespace trainyard::runtime {

// Steps since this ps started, so that a rank that is new after a restore starts with the others.
std::int64_t Aggregator::clock_of(std::size_t rank) const {
  return gate_.rank_steps()[rank] - first_steps_[rank];
}

// Stale synchronous parallel: a rank waits for its parameters while it is more than max_staleness
// steps ahead of the slowest. The slowest never waits, so somebody always goes on. (Ho et al., More
// Effective Distributed ML via a Stale Synchronous Parallel Parameter Server, 2013.)
bool Aggregator::may_go_on(std::size_t rank) const {
  if (!rules_.max_staleness || rules_.gate.mode == Mode::sync || gate_.finished()) return true;
  std::int64_t slowest = clock_of(rank);
  for (std::size_t other = 0; other < lost_.size(); ++other) {
    if (!lost_[other] && !idle_[other]) slowest = std::min(slowest, clock_of(other));
  }
  return clock_of(rank) - slowest <= *rules_.max_staleness;
}

// Its clock goes on beside the slowest of the others, which would else wait until it has made all
// the steps that it missed.
void Aggregator::welcome_back(std::size_t rank) {
  lost_[rank] = false;
  gone_[rank] = false;
  told_[rank] = false;
  std::optional<std::int64_t> slowest;
  for (std::size_t other = 0; other < lost_.size(); ++other) {
    if (lost_[other] || other == rank) continue;
    slowest = std::min(slowest.value_or(clock_of(other)), clock_of(other));
  }
  const std::int64_t missed = slowest ? *slowest - clock_of(rank) : 0;
  if (missed > 0) first_steps_[rank] -= missed;
}

std::int64_t Aggregator::rank_step(std::int64_t rank) const {
  if (!gate_.knows(rank)) return 0;
  if (awaits_clocks_) return clocks_->step_of(rank);
  return gate_.rank_steps()[static_cast<std::size_t>(rank)];
}

void Aggregator::tell_clock(std::int64_t rank, const ToldClock& told) {
  if (rules_.gate.mode == Mode::sync || !gate_.knows(rank)) return;
  if (awaits_clocks_) {
    clocks_->tell(rank, told);
    return go_on_if_told();
  }
  if (clocks_) take_late(rank, told);
  // Its connection broke, or its process died, with a push under way.
  if (told.pushes && told.step >= rank_step(rank)) take_turn(static_cast<std::size_t>(rank));
}

void Aggregator::see(std::int64_t rank, std::int64_t version) {
  if (!awaits_clocks_ || !gate_.knows(rank)) return;
  clocks_->see(rank, version);
  go_on_if_told();
}

// Of a rank that was given up, or that comes when training was over already.
void Aggregator::take_late(std::int64_t rank, const ToldClock& told) {
  if (told.step <= rank_step(rank)) return;
  const bool was_over = gate_.finished();
  const std::int64_t before = clocks_->version();
  clocks_->tell(rank, told);
  const std::int64_t more =
      was_over ? 0 : std::min(clocks_->version() - before, rules_.gate.max_steps - gate_.version());
  std::vector<std::int64_t> steps = gate_.rank_steps();
  const auto index = static_cast<std::size_t>(rank);
  first_steps_[index] += told.step - steps[index];  // it is not ahead of others by what it made
  steps[index] = told.step;
  gate_ = VersionGate(rules_.gate, gate_.version() + more, std::move(steps));
  if (was_over) gate_.end();
  lost_updates_ += more;
  if (more > 0) answer_waiting();  // those who wait for this version
}

// A rank that has nothing to tell is told for.
void Aggregator::wait_for_clocks(std::int64_t rank, std::function<void()> call) {
  deferred_[static_cast<std::size_t>(rank)] = std::move(call);
  if (!clocks_->has_told(rank)) tell_clock(rank, {});
}

// Once somebody has seen the last version, others may have gone who have nothing to tell any more.
void Aggregator::go_on_if_told() {
  const bool is_over = clocks_->newest_version() >= rules_.gate.max_steps;
  if (!is_over && !clocks_->is_complete()) return;
  awaits_clocks_ = false;
  gate_ = VersionGate(rules_.gate, clocks_->version(), clocks_->rank_steps());
  restore_clocks();
  lost_updates_ += clocks_->lost();
  for (std::size_t rank = 0; rank < lost_.size(); ++rank) {
    const bool has_told = clocks_->has_told(static_cast<std::int64_t>(rank));
    if (!has_told) lost_[rank] = true;  // nobody waits for it
    if (!lost_[rank] && clocks_->pushes(static_cast<std::int64_t>(rank))) take_turn(rank);
  }
  for (auto& call : deferred_) {
    if (const auto waited = std::exchange(call, nullptr)) waited();
  }
}

// As they were when the ranks were answered last. One that never was may have been moved up to the
// others by other ps (welcome_back): nobody is to wait here until it has made all that it missed.
void Aggregator::restore_clocks() {
  std::optional<std::int64_t> slowest;
  for (std::size_t rank = 0; rank < lost_.size(); ++rank) {
    const auto first = clocks_->first_step(static_cast<std::int64_t>(rank));
    if (!first) continue;
    first_steps_[rank] = *first;
    slowest = std::min(slowest.value_or(clock_of(rank)), clock_of(rank));
  }
  for (std::size_t rank = 0; rank < lost_.size() && slowest; ++rank) {
    if (clocks_->first_step(static_cast<std::int64_t>(rank))) continue;
    const std::int64_t missed = *slowest - clock_of(rank);
    if (missed > 0) first_steps_[rank] -= missed;
  }
}

bool Aggregator::takes_part_in(std::int64_t snapshot) const {
  return !clocks_ || (!awaits_clocks_ && snapshot > clocks_->newest_snapshot());
}

}  // namespace trainyard::runtime
