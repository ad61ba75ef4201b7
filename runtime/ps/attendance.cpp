#include "runtime/ps/attendance.h"

#include <algorithm>

#include "schemas/base/index.h"

namespace trainyard::runtime {

Attendance::Attendance(const Limits& limits, std::int64_t ranks, Time now)
    : limits_(limits), ranks_(index_of(ranks)), lonely_since_(now) {}

void Attendance::joined(std::int64_t rank) {
  ranks_.at(index_of(rank)).state = State::there;
  had_worker_ = true;
}

void Attendance::left(std::int64_t rank, Time now) {
  Rank& leaving = ranks_.at(index_of(rank));
  if (leaving.state == State::there) leaving = {State::missing, now};
  if (count(State::there) == 0) lonely_since_ = now;
}

void Attendance::said_goodbye(std::int64_t rank) { ranks_.at(index_of(rank)).state = State::gone; }

void Attendance::finished(Time now) {
  if (!finished_) finished_ = now;
}

std::optional<Attendance::End> Attendance::end(Time now) const {
  if (finished_) {
    // Who is missing has nothing to do any more when it is back.
    const bool none_needs_it = count(State::there) + count(State::not_seen) == 0;
    if (none_needs_it || now - *finished_ > limits_.late_worker) return End{true, {}};
    return std::nullopt;
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].state != State::missing) continue;
    if (now - ranks_[rank].since <= limits_.return_of_one) continue;
    return End{false, "the worker of rank " + std::to_string(rank) + " is gone"};
  }
  if (count(State::there) > 0) return std::nullopt;
  const Millis limit = had_worker_ ? limits_.no_worker : limits_.first_worker;
  if (now - lonely_since_ <= limit) return std::nullopt;
  return End{false, had_worker_ ? "all workers are gone" : "no worker ever came"};
}

std::int64_t Attendance::count(State state) const {
  return std::ranges::count(ranks_, state, &Rank::state);
}

}  // namespace trainyard::runtime
