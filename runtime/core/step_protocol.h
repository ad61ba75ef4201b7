// What a worker asks its ps for next, given what they have answered so far: how it begins, each
// step, and how it ends. It knows no network, and no clock.
//
// A worker may be another process of a task that died, and begin anywhere in a step: its own last
// push may have reached some ps and not others, and so may those of the other workers.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/heirs.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

class StepProtocol {
 public:
  struct Rules {
    Mode mode = Mode::sync;
    std::int64_t max_steps = 1;
  };

  // Of the newest answers of all ps.
  struct Seen {
    std::int64_t version = 0;  // async: that of ps 0
    std::int64_t oldest = 0;
    std::int64_t newest = 0;
    std::int64_t rank_step = 0;       // newest step of this worker that every ps has taken
    std::int64_t rank_step_max = 0;   // and that any has
    bool turn = false;                // async: ps 0 lets it push again
    std::int64_t asked_snapshot = 0;  // not 0: a push is to carry it
    // Sync: a connection was cut and made again meanwhile. That ps had missed this worker, so heirs
    // may have gone on for it.
    bool was_cut = false;
    Inheritance inheritance = {};  // sync: some ps asked and did not answer: no more counts then
  };

  struct Ask {
    enum class What {
      pull,          // `version` or newer
      pull_exactly,  // `version` itself, the one before the newest; a later one: it is past
      pull_turn,     // a turn to push, or the end of training
      push,          // the gradient of `step`, of the parameters that came last
      inherit,       // those of `step` of inheritance().ranks, of the parameters that came last
      nothing,       // training is over
    };
    What what = What::nothing;
    std::int64_t version = 0;
    std::int64_t step = 0;
    std::int64_t snapshot_step = 0;  // that the push is to carry; 0 = none
    bool operator==(const Ask&) const = default;
  };

  explicit StepProtocol(Rules rules) : rules_(rules) {}

  // The same until take().
  [[nodiscard]] Ask next() const;
  void take(const Seen& seen);
  // What next() asks to inherit.
  [[nodiscard]] const Inheritance& inheritance() const { return inheritance_; }
  // Every ps has it.
  void inherited() { heir_ = Heir::waits; }
  // An answer that is waited for has still to come, since a ps asked for something else first.
  [[nodiscard]] bool stands_in() const { return heir_ != Heir::no; }
  // The chief's: the next push is to ask for this snapshot, unless it has to carry another's name.
  void ask_snapshot(std::int64_t step) { own_snapshot_ = step; }

  // Until there are parameters to make a step from.
  [[nodiscard]] bool begins() const { return phase_ < Phase::trains; }

 private:
  enum class Phase { starts, looks_again, aligns, trains, ends, over };
  enum class Heir { no, looks, goes_back, computes, waits };
  [[nodiscard]] Ask next_of_heir() const;
  bool take_as_heir(const Seen& seen);
  [[nodiscard]] bool goes_on() const;
  [[nodiscard]] std::int64_t snapshot_to_carry() const;

  Rules rules_;
  Phase phase_ = Phase::starts;
  Seen seen_;
  std::int64_t own_snapshot_ = 0;
  std::int64_t marked_ = 0;  // the newest that a push has carried
  Heir heir_ = Heir::no;
  Inheritance inheritance_;
  bool looks_again_ = false;     // what was seen may be of two versions, as at the start
  bool pushed_to_some_ = false;  // and not to all: the last push of an earlier process
};

}  // namespace trainyard::runtime
