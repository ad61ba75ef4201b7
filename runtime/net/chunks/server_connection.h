// A connection to a ps, one worker's, or a stranger's until its hello: of chunk_server.cpp alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/net/chunks/chunk_server.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

// Of what leaves before parameters; a worker that reads none of it is not a good one.
constexpr std::size_t small_frames_max = 4096;

inline Time steady_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

class ChunkServer::Connection : public FrameStream::Receiver {
 public:
  Connection(ChunkServer& server, StreamSocket socket, Time now)
      : server_(server), stream_(std::move(socket)), since_(now) {}

  Result<std::span<std::byte>> place(const FrameHeader& header) override;
  Status take(const FrameHeader& header, std::span<const std::byte> payload) override {
    return server_.take(*this, header, payload);
  }
  // The next chunk of the snapshot that it has asked for; when nothing else is to be sent.
  std::optional<FrameStream::Outgoing> next_weights(const ChunkStore& store);
  // The next of the residuals that it is given back.
  FrameStream::Outgoing next_restored(const ChunkStore& store);

  static constexpr std::int64_t no_chunk = std::numeric_limits<std::int64_t>::max();

  ChunkServer& server_;
  FrameStream stream_;
  bool has_token_ = false;
  bool said_goodbye_ = false;
  std::int64_t rank_ = -1;                   // -1: it has not said
  SharedArenasPtr arenas_;                   // of a worker of this host
  std::deque<FrameStream::Outgoing> small_;  // that leave before any parameters
  // Of what has no place of its own: a residual, a list, a gradient that is not needed.
  std::vector<std::byte> landing_;
  std::int64_t restored_ = no_chunk;  // the chunk whose residual it is given back next
  ShareSnapshotPtr weights_;          // that it has asked for
  std::int64_t next_weights_ = 0;     // chunk of them
  bool waits_for_room_ = false;       // to send
  bool watches_room_ = false;         // the poll tells of it
  const Time since_;

 private:
  std::span<std::byte> landing(std::size_t bytes) {
    landing_.resize(bytes);
    return std::span(landing_);
  }
};

}  // namespace trainyard::runtime
