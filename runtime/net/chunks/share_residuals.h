// What the encoding of gradients has lost, of the chunks of a share: as a snapshot holds it, and as
// ranks are given it back that begin from one. Onebit alone has any.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/net/chunks/store_layout.h"

namespace trainyard::runtime {

// By leaf of the reduction tree, of the elements of all chunks, one after another. Async: each rank
// has leaves of its own, in order of rank.
using ShareResiduals = std::map<std::int64_t, AlignedBuffer>;

// A rank's residual of a chunk, as StoreLayout::residual_bytes_of() has it, goes to its place.
struct ResidualOf {
  std::int64_t rank = 0;
  std::int64_t chunk = 0;
};
void put_residual(const StoreLayout& layout, ResidualOf whose, std::span<const std::byte> bytes,
                  ShareResiduals& residuals);

class RestoredResiduals {
 public:
  explicit RestoredResiduals(StoreLayoutPtr layout);

  // Of the checkpoint that training begins with, before anything is updated. Of a rank of which a
  // leaf is missing it is zero.
  void restore(const ShareResiduals& residuals);
  // Of a rank and chunk, part by part; of which there is none, nothing.
  [[nodiscard]] ChunkBytes of(std::int64_t rank, std::int64_t chunk) const;
  // The chunk was updated with a gradient of the rank, which knows better since.
  void forget(std::int64_t rank, std::int64_t chunk) {
    kept_[index_of(rank)][index_of(chunk)].reset();
  }
  // Adds those of ranks of which no chunk was updated.
  void put_unused(ShareResiduals& residuals) const;

 private:
  using FloatsPtr = std::shared_ptr<const AlignedBuffer>;  // who is sent it may outlive this

  StoreLayoutPtr layout_;
  std::vector<std::vector<FloatsPtr>> kept_;  // by rank and chunk; none: nullptr
};

}  // namespace trainyard::runtime
