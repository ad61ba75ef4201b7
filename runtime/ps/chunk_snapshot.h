// The copy of a chunk that a snapshot is to hold, and what it still waits for.
#pragma once

#include <cstdint>
#include <vector>

namespace trainyard::runtime {

class ChunkSnapshot {
 public:
  // `has_residuals`: what gradients lose on the way is kept by their ranks, and by snapshots.
  ChunkSnapshot(std::int64_t ranks, bool has_residuals);

  struct Copy {
    std::int64_t snapshot = 0;             // that it is for; 0: there is none
    std::int64_t version = 0;              // updates in it
    std::vector<std::int64_t> rank_steps;  // by rank: its newest step in it
  };
  [[nodiscard]] const Copy& copy() const { return copy_; }

  // Sync: all ranks' gradients are in it.
  void take(Copy copy);
  // Async: the next gradients of these ranks, by rank, belong to it, too, until leave().
  void begin(Copy copy, std::vector<bool> open_ranks);
  [[nodiscard]] bool is_open_to(std::int64_t rank) const;
  // Its gradient of this step is in the copy.
  void add(std::int64_t rank, std::int64_t step);
  // All that is to be in it of this rank is.
  void leave(std::int64_t rank);

  // What the encoding of this rank's gradients has lost of the chunk is to come.
  [[nodiscard]] bool awaits_residual(std::int64_t rank) const;
  void residual_came(std::int64_t rank);

  // The copy is what the snapshot is to hold of the chunk, and all residuals have come.
  [[nodiscard]] bool is_whole() const;

 private:
  bool has_residuals_;
  Copy copy_;
  std::vector<bool> open_;              // by rank
  std::vector<bool> awaits_residuals_;  // likewise
};

}  // namespace trainyard::runtime
