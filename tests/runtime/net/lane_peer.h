// A ps at the other end of a worker's lane that says what a test wants. Makes no assertions.
#pragma once

#include <poll.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/net/local_socket.h"
#include "runtime/net/stream_frame.h"
#include "runtime/net/stream_lane.h"
#include "schemas/base/check.h"

namespace trainyard::runtime::test {

// What a ps sends, on one connection.
class LanePeer {
 public:
  LanePeer() : name_(new_local_socket_name()), listener_(*StreamSocket::listen_unix(name_)) {}

  // Accepts and welcomes a lane.
  StreamLane lane() {
    auto lane = std::async(std::launch::async, [this] {
      return StreamLane::connect(*StreamSocket::connect_unix(name_), {},
                                 StreamLane::Clock::now() + std::chrono::seconds(20), {});
    });
    while (!socket_) {
      wait(listener_.descriptor(), POLLIN);
      socket_ = listener_.accept();
    }
    take_frame();
    start({}, {});
    send();
    return *lane.get();
  }

  // One without a payload.
  proto::StreamPush take_frame() { return take_gradient(0); }
  // With a payload, which nobody looks at.
  proto::StreamPush take_gradient(std::uint64_t bytes) {
    IncomingFrame in;
    std::vector<std::byte> payload(bytes);
    proto::StreamPush push;
    while (in.stage() != IncomingFrame::Stage::whole) {
      wait(socket_->descriptor(), POLLIN);
      ENSURE(in.receive_some(*socket_).has_value());
      if (in.stage() != IncomingFrame::Stage::placing) continue;
      ENSURE(in.payload_bytes() == bytes);
      ENSURE(push.ParseFromString(std::string(in.header())));
      const std::array places{std::span(payload)};
      ENSURE(in.place(places).has_value());
    }
    return push;
  }

  // An answer with these parameters, of which nothing leaves yet.
  void start(const proto::StreamPull& header, std::span<const float> parameters) {
    Payload payload;
    if (!parameters.empty()) payload.pieces.push_back(std::as_bytes(parameters));
    out_.start_held(header, std::move(payload));
  }
  void send(std::size_t floats = 0) {
    out_.release(floats * sizeof(float));
    while (!out_.sent() && !out_.is_held()) {
      wait(socket_->descriptor(), POLLOUT);
      ENSURE(out_.send_some(*socket_).has_value());
    }
  }
  void die() { socket_.reset(); }

 private:
  static void wait(int descriptor, short events) {
    pollfd waiting{.fd = descriptor, .events = events, .revents = 0};
    ENSURE(::poll(&waiting, 1, 20'000) > 0);
  }

  std::string name_;
  StreamSocket listener_;
  std::optional<StreamSocket> socket_;
  OutgoingFrame out_;
};

// Something to do for the lane.
inline void await(const StreamLane& lane) {
  pollfd waiting{.fd = lane.descriptor(), .events = lane.awaited(), .revents = 0};
  ENSURE(::poll(&waiting, 1, 20'000) > 0);
}

// The answer's, with which its parameters may come or follow.
inline Result<proto::PullFrame> header_of(StreamLane& lane) {
  for (;;) {
    TRY_ASSIGN(auto header, lane.advance_to_header());
    if (header) return *std::move(header);
    await(lane);
  }
}

}  // namespace trainyard::runtime::test
