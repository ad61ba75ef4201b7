// Where a ps of async training goes on that was started again alone. Its shard is older than what
// its workers have had acknowledged, so each of them tells how far it is; what lies between is lost
// on this ps, and counted. It knows no network, and no clock.
//
// A ps whose version is not what it was before would end training later than the others, or, where
// it gives the turns (runtime/core/turns.h), let the gang make too many steps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace trainyard::runtime {

// By a worker.
struct ToldClock {
  std::int64_t step = 0;      // newest push of its rank that the ps has acknowledged
  std::int64_t version = 0;   // newest that any ps of the gang has answered with
  std::int64_t snapshot = 0;  // newest name of a checkpoint that the worker has heard of
  bool pushes = false;        // the push after `step` is under way, or the rank has a turn for it
  // By which the ps measured how far ahead the rank was (max_staleness), at `step`.
  std::optional<std::int64_t> clock = {};
  bool operator==(const ToldClock&) const = default;
};

class ToldClocks {
 public:
  // As the shard has them that the ps was started from.
  ToldClocks(std::int64_t version, std::vector<std::int64_t> rank_steps);

  // Of a rank that tells again, as another process, the greater step counts.
  void tell(std::int64_t rank, const ToldClock& told);
  // Another ps has had this version, the rank says. It counts once the rank has told: a push of its
  // own may be in it.
  void see(std::int64_t rank, std::int64_t version) {
    ranks_[index_of(rank)].seen = std::max(ranks_[index_of(rank)].seen, version);
  }
  // It will tell nothing: its step is that of the shard.
  void give_up(std::int64_t rank);
  [[nodiscard]] bool has_told(std::int64_t rank) const { return ranks_[index_of(rank)].told; }
  // Every rank has told, or is given up.
  [[nodiscard]] bool is_complete() const;
  // Of all that was told, and seen by those who have told.
  [[nodiscard]] std::int64_t newest_version() const;

  // What the ps is to go on from.
  [[nodiscard]] std::int64_t version() const;
  [[nodiscard]] std::int64_t step_of(std::int64_t rank) const { return steps_[index_of(rank)]; }
  [[nodiscard]] const std::vector<std::int64_t>& rank_steps() const { return steps_; }
  // The rank has a turn for a push that is not in the shard.
  [[nodiscard]] bool pushes(std::int64_t rank) const;
  // Where the ps counted the rank's clock from; nothing: it never told the rank.
  [[nodiscard]] std::optional<std::int64_t> first_step(std::int64_t rank) const;
  // Updates that `version` counts and the shard lacks.
  [[nodiscard]] std::int64_t lost() const { return version() - started_at_; }
  // Checkpoints up to this name began before the ps went on: it is in none of them.
  [[nodiscard]] std::int64_t newest_snapshot() const;

 private:
  struct Rank {
    ToldClock clock;
    std::int64_t seen = 0;
    std::optional<std::int64_t> first_step = {};
    bool told = false;
    bool given_up = false;
  };
  static std::size_t index_of(std::int64_t rank) { return static_cast<std::size_t>(rank); }

  std::int64_t started_at_;          // version of the shard
  std::vector<std::int64_t> first_;  // its rank steps
  std::vector<std::int64_t> steps_;
  std::vector<Rank> ranks_;
};

}  // namespace trainyard::runtime
