// A ps' connection to one worker, or to a stranger until its hello: of chunk_server.cpp alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "runtime/net/chunks/chunk_server.h"

namespace trainyard::runtime {

class ChunkServer::Connection : public FrameStream::Receiver {
 public:
  Connection(ChunkServer& server, StreamSocket socket)
      : server_(server), stream_(std::move(socket)) {}

  Result<std::span<std::byte>> place(const FrameHeader& header) override {
    const bool says_hello = header.kind == FrameKind::hello;
    if (says_hello != (rank_ < 0)) return invalid("a connection begins with one hello");
    const bool is_residual = header.kind == FrameKind::residual;
    if (header.kind != FrameKind::gradient && !is_residual) return std::span<std::byte>();
    if (header.chunk >= server_.options_.rules.chunks) return invalid("there is no such chunk");
    if (is_residual) return place_residual(header);
    if (arenas_) {
      if (header.bytes > 0) return invalid("a gradient came that lies in shared memory");
      return std::span<std::byte>();
    }
    const auto place = server_.store_.gradient_place(rank_, header.chunk);
    if (place.size() != header.bytes) return invalid("a gradient of another length");
    if (server_.core_.would_take(rank_, header.step, header.chunk)) return place;
    return landing(place.size());
  }
  Status take(const FrameHeader& header, std::span<const std::byte> payload) override {
    return server_.take(*this, header, payload);
  }

  static constexpr std::int64_t no_chunk = std::numeric_limits<std::int64_t>::max();

  ChunkServer& server_;
  FrameStream stream_;
  bool has_token_ = false;
  std::int64_t rank_ = -1;                   // -1: it has not said
  SharedArenasPtr arenas_;                   // of a worker of this host
  std::deque<FrameStream::Outgoing> small_;  // that leave before any parameters
  std::vector<std::byte> landing_;           // of a residual, or a gradient that is not needed
  std::int64_t restored_ = no_chunk;         // the chunk whose residual it is given back next
  bool waits_for_room_ = false;              // to send
  bool watches_room_ = false;                // the poll tells of it
  Clock::time_point since_ = Clock::now();

 private:
  Result<std::span<std::byte>> place_residual(const FrameHeader& header) {
    if (!server_.store_.has_residuals()) return invalid("residuals are not kept here");
    const std::size_t bytes = server_.store_.residual_bytes_of(rank_, header.chunk);
    if (bytes != header.bytes) return invalid("a residual of another length");
    return landing(bytes);
  }
  std::span<std::byte> landing(std::size_t bytes) {
    landing_.resize(bytes);
    return std::span(landing_);
  }
};

}  // namespace trainyard::runtime
