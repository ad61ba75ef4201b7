#include "runtime/graph/staging.h"

#include <algorithm>
#include <cstring>

namespace trainyard::runtime {
namespace {

constexpr std::size_t line = 64;

}  // namespace

void copy_bytes(const Threads& threads, void* to, const void* from, std::size_t bytes) {
  constexpr std::int64_t page = 4096;
  threads.split({.count = static_cast<std::int64_t>(bytes), .nanoseconds_each = 0.1, .unit = page},
                [&](const Part& part) {
                  const auto begin = static_cast<std::size_t>(part.begin);
                  std::memcpy(static_cast<std::byte*>(to) + begin,
                              static_cast<const std::byte*>(from) + begin,
                              static_cast<std::size_t>(part.count()));
                });
}

Staging::Staging(Device& device, const Threads& threads) : device_(device), threads_(threads) {
  for (Ring* const ring : {&up_, &down_}) {
    for (Piece& piece : ring->pieces) {
      piece.memory.emplace(device, DeviceBuffer::On::host);
      piece.memory->of(piece_bytes);
    }
  }
}

Staging::Room Staging::take(Ring& ring, std::size_t wanted) {
  if (ring.taken == piece_bytes) {
    ring.pieces[ring.current].used = mark();
    ring.current = (ring.current + 1) % ring.pieces.size();
    ring.taken = 0;
    wait(ring.pieces[ring.current].used);
  }
  std::byte* const memory = ring.pieces[ring.current].memory->of(piece_bytes);
  const Room room{memory + ring.taken, std::min(wanted, piece_bytes - ring.taken)};
  ring.taken += (room.bytes + line - 1) / line * line;
  return room;
}

void Staging::upload(const void* host, void* device, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes;) {
    const Room room = take(up_, bytes - at);
    copy_bytes(threads_, room.memory, static_cast<const std::byte*>(host) + at, room.bytes);
    device_.upload(room.memory, static_cast<std::byte*>(device) + at, room.bytes);
    at += room.bytes;
  }
}

void Staging::download(const void* device, void* host, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes;) {
    const Room room = take(down_, bytes - at);
    device_.download(static_cast<const std::byte*>(device) + at, room.memory, room.bytes);
    arriving_.push_back({.from = room.memory,
                         .to = static_cast<std::byte*>(host) + at,
                         .bytes = room.bytes,
                         .after = newest_});
    at += room.bytes;
  }
}

bool Staging::reached(std::uint64_t mark) {
  if (!device_.reached(mark)) return false;
  hand_over(mark);
  return true;
}

void Staging::wait(std::uint64_t mark) {
  device_.wait(mark);
  hand_over(mark);
}

// Nowhere, once the device has failed: who asked may be gone.
void Staging::hand_over(std::uint64_t mark) {
  if (device_.failure() != nullptr) arriving_.clear();
  while (!arriving_.empty() && arriving_.front().after < mark) {
    const Arriving& first = arriving_.front();
    copy_bytes(threads_, first.to, first.from, first.bytes);
    arriving_.pop_front();
  }
}

}  // namespace trainyard::runtime
