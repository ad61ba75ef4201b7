// A worker's connection to one ps: of WorkerLink's files alone.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "runtime/net/chunks/worker_link.h"

namespace trainyard::runtime {

class WorkerLink::Connection : public FrameStream::Receiver {
 public:
  Connection(WorkerLink& link, std::size_t number, StreamSocket socket)
      : ps(number), stream(std::move(socket)), link_(link) {}

  Result<std::span<std::byte>> place(const FrameHeader& header) override {
    return link_.place(*this, header);
  }
  Status take(const FrameHeader& header, std::span<const std::byte> payload) override {
    return link_.take(*this, header, payload);
  }

  const std::size_t ps;
  FrameStream stream;
  std::optional<FrameStream::Outgoing> hello;  // until it has left
  bool is_welcomed = false;
  bool is_shared = false;       // gradients and parameters lie in memory of both
  bool waits_for_room = false;  // to send
  bool watches_room = false;    // the poll tells of it
  std::vector<float> landing;   // where parameters go that are decoded, or not wanted

 private:
  WorkerLink& link_;
};

}  // namespace trainyard::runtime
