// What a worker asks of its ps beside the exchange of gradients and parameters, and what has come
// of it: shards of a checkpoint, its weights, to be released. It is asked again by each new
// connection, until it is answered. Whoever owns it guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/core/after_snapshot.h"
#include "runtime/core/exchange_words.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/net/chunks/frame_stream.h"
#include "runtime/net/chunks/snapshot_writer.h"
#include "runtime/net/chunks/worker_arenas.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class LinkRequests {
 public:
  using Frame = FrameStream::Outgoing;

  // `arenas` outlives this.
  explicit LinkRequests(const WorkerArenas& arenas, std::size_t servers);

  // Async, of ps 0: as PushTurns::begin_snapshot().
  void begin_snapshot(std::int64_t snapshot, AfterSnapshot then);
  void ask_shards(SnapshotWriter::Request request);
  void ask_weights(std::int64_t snapshot);
  void leave(Leaving who);

  // All that this ps has yet to answer: for a connection that is new.
  [[nodiscard]] std::vector<Frame> unanswered(std::size_t ps) const;

  // Room for a payload; none: it is small, or nobody wants it.
  Result<std::span<std::byte>> place(std::size_t ps, const FrameHeader& header);
  Status take(std::size_t ps, const FrameHeader& header, std::span<const std::byte> payload);

  [[nodiscard]] bool has_shards() const;
  // In the order of the ps; the first error.
  Result<std::vector<WrittenShard>> take_shards();
  [[nodiscard]] bool has_weights() const;
  // Of the whole arena.
  Result<AlignedBuffer> take_weights();
  [[nodiscard]] bool is_released() const;
  [[nodiscard]] bool is_released(std::size_t ps) const { return released_[ps]; }

 private:
  struct Shards {
    SnapshotWriter::Request request;
    std::vector<std::optional<Result<WrittenShard>>> of_ps;
  };
  struct Weights {
    std::int64_t snapshot = 0;
    AlignedBuffer arena;
    std::vector<bool> missing;  // by chunk
    std::optional<Error> error;
  };
  struct Begun {
    std::int64_t snapshot = 0;
    AfterSnapshot then = AfterSnapshot::goes_on;
  };
  Status take_shard(std::size_t ps, const FrameHeader& header, std::span<const std::byte> payload);
  Status take_weights_of(std::size_t ps, const FrameHeader& header,
                         std::span<const std::byte> payload);

  const WorkerArenas& arenas_;
  std::optional<Begun> begun_;  // until its shards are there
  std::optional<Shards> shards_;
  std::optional<Weights> weights_;
  std::optional<Leaving> leaving_;
  std::vector<bool> released_;                 // by ps
  std::vector<std::vector<std::byte>> lists_;  // by ps: a payload that comes
};

}  // namespace trainyard::runtime
