// Where a worker is with one ps, as far as it knows: what it tells by the first frame of a
// connection (ToldClock), and what it sends again by one that follows another. It knows no network,
// and no clock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "runtime/core/told_clocks.h"

namespace trainyard::runtime {

class ClockAtPs {
 public:
  // At the start: how many pushes of the rank the ps has taken, as it says, and how many any ps of
  // the gang. An earlier process of the task may have had one under way: then all have acknowledged
  // the one before, whatever those of them know that were lost since.
  void learn(std::int64_t taken, std::int64_t newest) {
    step_ = std::max(taken, newest - 1);
    makes_up_ = step_ < newest;
  }

  struct Heard {
    std::int64_t version = 0;
    std::int64_t rank_step = 0;
    std::int64_t clock = 0;
    std::int64_t asked_snapshot = 0;
    bool turn = false;
  };
  // It answered with parameters.
  void note(const Heard& heard) {
    version_ = heard.version;
    step_ = heard.rank_step;
    clock_ = heard.clock;
    name_snapshot(heard.asked_snapshot);
    has_turn_ = heard.turn;
    makes_up_ = false;
    told_.reset();
  }
  // A frame to it, or from it, names this checkpoint; 0: none.
  void name_snapshot(std::int64_t step) { snapshot_ = std::max(snapshot_, step); }

  // What a frame tells that pushes `push`; 0: none. One that the ps has acknowledged is made for
  // another ps, which has yet to take it.
  [[nodiscard]] ToldClock told(std::int64_t push) const {
    return {.step = step_,
            .version = version_,
            .snapshot = snapshot_,
            .pushes = push > step_ || has_turn_ || makes_up_,
            .clock = clock_};
  }
  [[nodiscard]] std::int64_t version() const { return version_; }  // that it answered with
  // What another ps is told with it.
  void add_to(ToldClock& told) const {
    told.version = std::max(told.version, version_);
    told.snapshot = std::max(told.snapshot, snapshot_);
  }

  // It was told so, and has yet to answer. A ps that was started again may wait for others then,
  // who went home since training is over: it is to hear of a newer version of another ps, be it one
  // that the worker was not answered with either.
  void has_told(std::int64_t version) { told_ = version; }
  [[nodiscard]] bool is_told() const { return told_.has_value(); }
  [[nodiscard]] bool lacks(std::int64_t version) const { return told_ && *told_ < version; }

  // The last frame. A push that was answered is not sent again: the ps has it, or has lost it with
  // the others, so the newest is pulled in its place.
  enum class Sent { pull, push, answered_push };
  static bool sends_same(Sent last) { return last != Sent::answered_push; }

 private:
  std::int64_t step_ = 0;  // newest push of the rank that it has acknowledged
  std::int64_t version_ = 0;
  std::int64_t snapshot_ = 0;
  std::optional<std::int64_t> clock_;
  std::optional<std::int64_t> told_;  // the version
  bool has_turn_ = false;
  bool makes_up_ = false;  // the rank's next push is one that another ps has already
};

}  // namespace trainyard::runtime
