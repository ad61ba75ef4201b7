#include "runtime/net/chunks/server_connection.h"

#include "runtime/net/chunks/server_connections.h"
#include "runtime/net/chunks/small_frames.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

ServerConnection::ServerConnection(ServerConnections& owner, Accepted accepted)
    : key(accepted.key),
      since(accepted.since),
      is_local(accepted.socket.is_unix()),
      stream(std::move(accepted.socket), accepted.key),
      owner_(owner) {}

Result<std::span<std::byte>> ServerConnection::place(const FrameHeader& header) {
  return owner_.place(*this, header);
}

Status ServerConnection::take(const FrameHeader& header, std::span<const std::byte> payload) {
  return owner_.take(*this, header, payload);
}

void ServerConnection::tell(const FrameHeader& header, std::string payload) {
  small.push_back(small_frame(header, std::move(payload)));
}

std::optional<FrameStream::Outgoing> ServerConnection::next_small() {
  if (small.empty()) return std::nullopt;
  FrameStream::Outgoing first = std::move(small.front());
  small.pop_front();
  return first;
}

void ServerConnection::refuse(const Error& why) {
  bool is_said = false;
  static_cast<void>(stream.frames().send([&]() -> std::optional<FrameStream::Outgoing> {
    if (std::exchange(is_said, true)) return std::nullopt;
    return small_frame({.kind = FrameKind::refused, .flag = why.code == Code::conflict},
                       why.message.substr(0, small_payload_bytes_max));
  }));
}

void ServerConnection::send_weights(ShareSnapshotPtr snapshot) {
  weights_ = std::move(snapshot);
  next_weights_ = 0;
}

std::optional<FrameStream::Outgoing> ServerConnection::next_weights(const ChunkStore& store) {
  if (!weights_) return std::nullopt;
  if (next_weights_ == store.chunks()) {
    weights_.reset();
    return std::nullopt;
  }
  const auto place = store.layout().place_of(next_weights_);
  const auto part = weights_->weights.span().subspan(index_of(place.begin), index_of(place.size()));
  return FrameStream::Outgoing{.header = {.kind = FrameKind::weights,
                                          .chunk = static_cast<std::uint32_t>(next_weights_++),
                                          .snapshot = weights_->step},
                               .pieces = {std::as_bytes(part)},
                               .owner = weights_};
}

std::optional<FrameStream::Outgoing> ServerConnection::next_residual(const ChunkStore& store) {
  if (restored_ >= store.chunks()) return std::nullopt;
  const std::int64_t chunk = restored_++;
  ChunkBytes bytes = store.restored().of(rank, chunk);
  return FrameStream::Outgoing{
      .header = {.kind = FrameKind::restored_residual, .chunk = static_cast<std::uint32_t>(chunk)},
      .pieces = {bytes.bytes},
      .owner = std::move(bytes.owner)};
}

std::span<std::byte> ServerConnection::landing(std::size_t bytes) {
  landing_.resize(bytes);
  return landing_;
}

}  // namespace trainyard::runtime
