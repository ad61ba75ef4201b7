// Async: which worker may push next. Training ends after so many pushes, and no worker is to be
// further ahead of another than the job allows (Q. Ho et al., More Effective Distributed ML via a
// Stale Synchronous Parallel Parameter Server, NIPS 2013). Only ps 0 decides this, so ps have
// nothing to agree on.
//
// A worker asks for a turn for each of its steps, and may ask again: it is told the same.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/core/after_snapshot.h"

namespace trainyard::runtime {

struct Turn {
  std::int64_t rank = 0;
  std::int64_t step = 0;
  std::int64_t snapshot = 0;  // not 0: the push of this step is the rank's last in this snapshot
  enum class Says {
    push,
    over,  // no push is left; with a snapshot, the rank marks it by RankEnded
  } says = Says::push;
  bool operator==(const Turn&) const = default;
};

class PushTurns {
 public:
  struct Rules {
    std::int64_t pushes = 0;  // left to be made by all ranks together
    // Steps that a rank may be ahead of the slowest. A rank that asks for a turn says by it that
    // all its pushes before are on every ps.
    std::optional<std::int64_t> max_staleness;
  };
  // rank_steps: by rank, the newest step whose push was made before.
  PushTurns(const Rules& rules, std::vector<std::int64_t> rank_steps);

  // Whom to tell what now. Nobody, where the step cannot be the rank's next, nor its newest.
  std::vector<Turn> ask(std::int64_t rank, std::int64_t step);

  // Whether the rank has had its turn for this step.
  [[nodiscard]] bool has_given(std::int64_t rank, std::int64_t step) const {
    return step <= ranks_.at(static_cast<std::size_t>(rank)).given;
  }

  // The next turn of every rank marks this snapshot, which is newer than those before. `stops`: who
  // has marked it gets no turn any more; not where staleness is bounded, since who waits for a
  // slower one could not mark it.
  // False: nobody will mark it, as all have been told that training is over.
  bool begin_snapshot(std::int64_t snapshot, AfterSnapshot then = AfterSnapshot::goes_on);

 private:
  // A process that takes another's place asks again from where that one's pushes are everywhere: it
  // may have sent one of which some are missing, computed the next, and asked ahead for a third.
  static constexpr std::int64_t turns_kept = 3;
  struct Rank {
    std::int64_t first = 0;  // rank_steps
    std::int64_t asked = 0;  // newest step
    std::int64_t given = 0;  // newest step
    std::array<std::int64_t, turns_kept>
        snapshots{};          // of the newest given, by step modulo so many
    std::int64_t marked = 0;  // the newest that it was told
    std::optional<Turn> over;
  };
  [[nodiscard]] bool may_push(const Rank& rank) const;
  [[nodiscard]] std::int64_t mark(Rank& rank) const;

  Rules rules_;
  std::vector<Rank> ranks_;
  std::int64_t snapshot_ = 0;
  bool is_last_ = false;
};

}  // namespace trainyard::runtime
