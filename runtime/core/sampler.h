// Which examples a batch is made of: a function of (seed, position), so that any worker can compute
// any batch. The training set is walked in one endless line of positions; every `examples` of them
// are one epoch, in an order of its own, drawn by (seed, epoch). Batches may cross the border of
// two epochs.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "runtime/core/counter_rng.h"

namespace trainyard::runtime {

class Sampler {
 public:
  Sampler(std::uint64_t seed, std::int64_t examples);

  // The index in the training set (0 .. examples - 1) of the example at `position` (0, 1, 2, ...).
  // Within an epoch every index comes exactly once. O(1) time and memory: a keyed permutation
  // (Feistel network, cycle walking).
  [[nodiscard]] std::int64_t at(std::int64_t position) const;

  // indices[i] = at(first_position + i)
  void fill(std::int64_t first_position, std::span<std::int64_t> indices) const;

 private:
  // The keys of one epoch's permutation, a number for each round.
  using RoundKeys = std::array<std::uint32_t, 8>;
  [[nodiscard]] RoundKeys keys_of(std::int64_t epoch) const;
  [[nodiscard]] std::uint64_t permute(std::uint64_t index, const RoundKeys& keys) const;

  CounterRng rng_;
  std::int64_t examples_;
  int left_bits_;
  int right_bits_;
};

// Position of the first example of the batch of leaf `leaf` (of `leaves`) of step `step`, from 1.
// Sync: `step` is the global step. Async: the worker's own count of batches, its rank the leaf.
constexpr std::int64_t batch_position(std::int64_t step, std::int64_t leaf, std::int64_t leaves,
                                      std::int64_t batch_size) {
  return ((step - 1) * leaves + leaf) * batch_size;
}

}  // namespace trainyard::runtime
