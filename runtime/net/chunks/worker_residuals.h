// What a worker and its ps tell each other of residuals, which onebit's encoding leaves over: the
// worker is given those of the checkpoint before it begins, and gives its own to snapshots.
//
// Parameters that make a snapshot ask for the residual of their chunk as it is when they come: that
// of the gradient that they were made of. A copy is sent, before the next gradient of the chunk,
// and again by each new connection, until the ps says that it has it. Where residuals are not kept
// there is never anything to tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "runtime/net/chunks/frame_stream.h"
#include "runtime/net/chunks/worker_arenas.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

class WorkerResiduals {
 public:
  // The arenas outlive it.
  explicit WorkerResiduals(WorkerArenas& arenas);

  // A new connection to this ps is welcomed. True: it is to be asked for what it has restored.
  bool welcomed(std::size_t ps);

  // Whether the chunk's is still to come.
  [[nodiscard]] bool awaits(std::int64_t chunk) const { return awaited_[index_of(chunk)]; }
  // It has come; empty: it is zero.
  void restore(std::int64_t chunk, std::span<const float> values);
  // Nothing is encoded before.
  [[nodiscard]] bool may_begin() const { return awaited_count_ == 0; }

  // The chunk's residual as it is now is the snapshot's.
  void keep(std::int64_t chunk, std::int64_t snapshot);
  // Of what is kept and has not been sent by this connection.
  std::optional<FrameStream::Outgoing> next_to_send(std::size_t ps);
  // The ps has it.
  void taken(std::int64_t chunk, std::int64_t snapshot);
  // Floats of a residual of the chunk; 0: none is kept.
  [[nodiscard]] std::int64_t floats(std::int64_t chunk) const;
  // The ps have all that they asked for.
  [[nodiscard]] bool may_leave() const { return kept_count_ == 0; }

 private:
  // One of a chunk at most: its next parameters come after the ps has taken what it asked for.
  struct Kept {
    std::int64_t snapshot = 0;
    std::shared_ptr<const std::vector<float>> values;  // none: nullptr
  };

  WorkerArenas& arenas_;
  std::vector<std::size_t> ps_of_;  // by chunk
  std::vector<bool> awaited_;       // by chunk
  std::int64_t awaited_count_ = 0;
  std::vector<Kept> kept_;  // by chunk
  std::int64_t kept_count_ = 0;
  std::vector<std::set<std::int64_t>> to_send_;  // by ps: chunks
};

}  // namespace trainyard::runtime
