#include "runtime/ps/chunk_snapshot.h"

#include <algorithm>
#include <utility>

#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

bool is_any(const std::vector<bool>& ranks) {
  return std::ranges::find(ranks, true) != ranks.end();
}

}  // namespace

ChunkSnapshot::ChunkSnapshot(std::int64_t ranks, bool has_residuals)
    : has_residuals_(has_residuals),
      open_(index_of(ranks), false),
      awaits_residuals_(index_of(ranks), false) {}

void ChunkSnapshot::take(Copy copy) {
  copy_ = std::move(copy);
  awaits_residuals_.assign(awaits_residuals_.size(), has_residuals_);
}

void ChunkSnapshot::begin(Copy copy, std::vector<bool> open_ranks) {
  copy_ = std::move(copy);
  open_ = std::move(open_ranks);
  awaits_residuals_.assign(awaits_residuals_.size(), false);
}

bool ChunkSnapshot::is_open_to(std::int64_t rank) const { return open_.at(index_of(rank)); }

void ChunkSnapshot::add(std::int64_t rank, std::int64_t step) {
  ++copy_.version;
  copy_.rank_steps.at(index_of(rank)) = step;
}

void ChunkSnapshot::leave(std::int64_t rank) {
  open_.at(index_of(rank)) = false;
  awaits_residuals_.at(index_of(rank)) = has_residuals_;
}

bool ChunkSnapshot::awaits_residual(std::int64_t rank) const {
  return awaits_residuals_.at(index_of(rank));
}

void ChunkSnapshot::residual_came(std::int64_t rank) {
  awaits_residuals_.at(index_of(rank)) = false;
}

bool ChunkSnapshot::is_whole() const { return !is_any(open_) && !is_any(awaits_residuals_); }

}  // namespace trainyard::runtime
