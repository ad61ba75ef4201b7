// Copies between a device and memory of the host that is not the device's to read: arenas of
// parameters and gradients are shared with other processes, which may map them anew or take pages
// out of them. They go through memory that is the device's, piece by piece, and hold nobody up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "runtime/graph/device_buffer.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

// std::memcpy by several threads.
void copy_bytes(const Threads& threads, void* to, const void* from, std::size_t bytes);

class Staging {
 public:
  // `threads`: who copies, while the device computes. Throws DeviceFailed where the host has too
  // little memory for the pieces.
  Staging(Device& device, const Threads& threads);

  [[nodiscard]] const Threads& threads() const { return threads_; }

  // The host's memory has been read when it returns.
  void upload(const void* host, void* device, std::size_t bytes);
  // It is in the host's memory once reached() or wait() knew it of a later mark.
  void download(const void* device, void* host, std::size_t bytes);

  std::uint64_t mark() { return newest_ = device_.mark(); }
  bool reached(std::uint64_t mark);
  void wait(std::uint64_t mark);

 private:
  static constexpr std::size_t piece_bytes = std::size_t{4} << 20;

  struct Piece {
    std::optional<DeviceBuffer> memory;
    std::uint64_t used = 0;  // the mark behind its last copy
  };
  // Pieces that are used one after another, again and again.
  struct Ring {
    std::array<Piece, 8> pieces;
    std::size_t current = 0;
    std::size_t taken = 0;  // bytes of the current one
  };
  struct Room {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;  // at least 1, at most what was asked for
  };
  struct Arriving {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::size_t bytes = 0;
    std::uint64_t after = 0;  // it is over with any mark behind this one
  };

  Room take(Ring& ring, std::size_t wanted);
  void hand_over(std::uint64_t mark);

  Device& device_;
  Threads threads_;
  Ring up_;
  Ring down_;
  std::deque<Arriving> arriving_;
  std::uint64_t newest_ = 0;  // mark
};

}  // namespace trainyard::runtime
