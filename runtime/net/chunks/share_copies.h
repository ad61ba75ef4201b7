// Copies of a share for snapshots, chunk by chunk: what was copied, what async updates of it, the
// residuals that came for it, and when it is whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/net/chunks/chunk_weights.h"
#include "runtime/net/chunks/share_residuals.h"
#include "runtime/net/chunks/store_layout.h"
#include "runtime/ps/parameter_server.h"

namespace trainyard::runtime {

// Of all chunks, one after another; slots in the order of slot_names().
struct ShareCopy {
  AlignedBuffer weights;
  std::vector<AlignedBuffer> slots;
  ShareResiduals residuals;  // onebit: of all leaves whose ranks had not ended before
};

class ShareCopies {
 public:
  explicit ShareCopies(StoreLayoutPtr layout);

  // What is copied.
  struct Source {
    const ChunkWeights& weights;
    const std::vector<AlignedBuffer>& slots;
  };
  // At most so many are kept that are not whole: then the oldest is dropped.
  static constexpr std::size_t pending_max = 4;
  void copy(const CopyChunk& what, const Source& source);
  // The one that the chunk was copied for last; dropped: nullptr.
  [[nodiscard]] ShareCopy* newest_of(std::int64_t chunk);
  // As StoreLayout::residual_bytes_of() has it, for the snapshot that the chunk was copied for
  // last.
  void residual_came(const ResidualCame& residual, std::span<const std::byte> bytes);
  // What the snapshot holds, with its last chunk; never of one that was dropped.
  std::optional<ShareCopy> save(const SaveCopy& what);

  // Of all chunks as they are now, without residuals.
  [[nodiscard]] ShareCopy copy_all(const Source& source) const;

 private:
  struct Pending {
    ShareCopy copy;
    std::int64_t saved = 0;  // chunks
  };
  void forget_overtaken(std::int64_t snapshot);
  [[nodiscard]] ShareCopy empty_copy(const Source& source) const;
  void copy_chunk(std::int64_t chunk, const Source& source, ShareCopy& copy) const;

  StoreLayoutPtr layout_;
  std::vector<std::int64_t> newest_;         // by chunk: the snapshot that it was copied for last
  std::map<std::int64_t, Pending> pending_;  // by snapshot
};

}  // namespace trainyard::runtime
