#include "runtime/net/chunks/server_connection.h"

namespace trainyard::runtime {

Result<std::span<std::byte>> ChunkServer::Connection::place(const FrameHeader& header) {
  const bool says_hello = header.kind == FrameKind::hello;
  if (says_hello != (rank_ < 0)) return invalid("a connection begins with one hello");
  if (header.kind == FrameKind::ask_shard && rank_ == 0) {
    if (header.bytes > list_payload_bytes_max) return invalid("a list of many steps");
    return landing(header.bytes);
  }
  const bool is_residual = header.kind == FrameKind::residual;
  if (header.kind != FrameKind::gradient && !is_residual) return std::span<std::byte>();
  if (header.chunk >= server_.options_.rules.chunks) return invalid("there is no such chunk");
  if (is_residual) {
    if (!server_.store_.has_residuals()) return invalid("residuals are not kept here");
    const std::size_t bytes = server_.store_.residual_bytes_of(rank_, header.chunk);
    if (bytes != header.bytes) return invalid("a residual of another length");
    return landing(bytes);
  }
  if (arenas_) {
    if (header.bytes > 0) return invalid("a gradient came that lies in shared memory");
    return std::span<std::byte>();
  }
  const auto place = server_.store_.gradient_place(rank_, header.chunk);
  if (place.size() != header.bytes) return invalid("a gradient of another length");
  if (server_.core_.would_take(rank_, header.step, header.chunk)) return place;
  return landing(place.size());
}

FrameStream::Outgoing ChunkServer::Connection::next_restored(const ChunkStore& store) {
  const std::int64_t chunk = restored_++;
  ChunkStore::Bytes bytes = store.restored_residual(rank_, chunk);
  return {
      .header = {.kind = FrameKind::restored_residual, .chunk = static_cast<std::uint32_t>(chunk)},
      .pieces = {bytes.bytes},
      .owner = std::move(bytes.owner)};
}

std::optional<FrameStream::Outgoing> ChunkServer::Connection::next_weights(
    const ChunkStore& store) {
  if (!weights_) return std::nullopt;
  if (next_weights_ == store.chunks()) {
    weights_.reset();
    return std::nullopt;
  }
  const auto place = store.place_of(next_weights_);
  const auto part = weights_->weights.span().subspan(index_of(place.begin), index_of(place.size()));
  return FrameStream::Outgoing{.header = {.kind = FrameKind::weights,
                                          .chunk = static_cast<std::uint32_t>(next_weights_++),
                                          .snapshot = weights_->step},
                               .pieces = {std::as_bytes(part)},
                               .owner = weights_};
}

}  // namespace trainyard::runtime
