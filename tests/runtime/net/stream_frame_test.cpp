// Frames through real sockets, in all sizes and pieces.
#include "runtime/net/stream_frame.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "runtime/net/local_socket.h"
#include "schemas/proto/params.pb.h"

namespace trainyard::runtime {
namespace {

using Stage = IncomingFrame::Stage;

struct Ends {
  StreamSocket near;
  StreamSocket far;
};

Ends connected(bool tcp) {
  const std::string name = new_local_socket_name();
  const auto port = tcp ? StreamSocket::listen_tcp("127.0.0.1:1") : StreamSocket::listen_unix(name);
  REQUIRE(port.has_value());
  const auto deadline = StreamSocket::Clock::now() + std::chrono::seconds(20);
  auto near = tcp ? StreamSocket::connect_tcp("127.0.0.1:1", port->port(), deadline, {})
                  : StreamSocket::connect_unix(name);
  REQUIRE(near.has_value());
  auto far = port->accept();
  REQUIRE(far);
  return {*std::move(near), *std::move(far)};
}

std::vector<std::byte> numbered(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 31 + i / 251);
  return data;
}

// In pieces of `step` bytes.
template <class Byte>
std::vector<std::span<Byte>> cut(std::span<Byte> data, std::size_t step) {
  std::vector<std::span<Byte>> pieces;
  for (std::size_t at = 0; at < data.size(); at += step) {
    pieces.push_back(data.subspan(at, std::min(step, data.size() - at)));
  }
  return pieces;
}

}  // namespace

TEST_CASE("a frame arrives as it was sent, whatever its size and its pieces", "[stream_frame]") {
  for (const bool tcp : {false, true}) {
    const Ends ends = connected(tcp);
    OutgoingFrame out;
    IncomingFrame in;
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{8192},
          std::size_t{100'003}, std::size_t{9'000'000}}) {
      INFO(bytes << " bytes");
      const std::vector<std::byte> data = numbered(bytes);
      std::vector<std::byte> arrived(bytes);
      proto::StreamPush push;
      push.mutable_frame()->set_step(static_cast<std::int64_t>(bytes));
      out.start(push, {.pieces = cut(std::span<const std::byte>(data), bytes / 200 + 1),
                       .owner = nullptr});
      while (in.stage() != Stage::whole) {
        REQUIRE(out.send_some(ends.near).has_value());
        REQUIRE(in.receive_some(ends.far).has_value());
        if (in.stage() != Stage::placing) continue;
        REQUIRE(in.payload_bytes() == bytes);
        proto::StreamPush seen;
        REQUIRE(seen.ParseFromString(std::string(in.header())));
        CHECK(seen.frame().step() == static_cast<std::int64_t>(bytes));
        REQUIRE(in.place(cut(std::span(arrived), bytes / 3 + 1)).has_value());
      }
      CHECK(out.sent());
      CHECK(arrived == data);
      in.next();
    }
  }
}

TEST_CASE("the payload's owner is held until it is sent, and no longer", "[stream_frame]") {
  const Ends ends = connected(false);
  const auto owner = std::make_shared<std::vector<std::byte>>(numbered(9'000'000));
  OutgoingFrame out;
  out.start(proto::StreamPush(), {.pieces = {*owner}, .owner = owner});
  REQUIRE(out.send_some(ends.near).has_value());
  CHECK_FALSE(out.sent());
  CHECK(owner.use_count() == 2);
  std::vector<std::byte> arrived(owner->size());
  IncomingFrame in;
  while (in.stage() != Stage::whole) {
    REQUIRE(in.receive_some(ends.far).has_value());
    const std::array places{std::span(arrived)};
    if (in.stage() == Stage::placing) REQUIRE(in.place(places).has_value());
    REQUIRE(out.send_some(ends.near).has_value());
  }
  CHECK(owner.use_count() == 1);
}

TEST_CASE("of a frame that is held no more leaves than is released", "[stream_frame]") {
  for (const bool tcp : {false, true}) {
    const Ends ends = connected(tcp);
    const std::vector<std::byte> data = numbered(300'000);
    OutgoingFrame out;
    out.start_held(proto::StreamPush(),
                   {.pieces = cut(std::span<const std::byte>(data), 100'000), .owner = nullptr});
    IncomingFrame in;
    std::vector<std::byte> arrived = data;
    for (std::byte& byte : arrived) byte = ~byte;  // none is right before it has come
    const auto receive = [&] {
      REQUIRE(in.receive_some(ends.far).has_value());
      if (in.stage() == Stage::placing) {
        REQUIRE(in.place(cut(std::span(arrived), 7777)).has_value());
      }
      return static_cast<std::size_t>(std::ranges::mismatch(arrived, data).in1 - arrived.begin());
    };
    for (const std::size_t released : {0U, 1U, 99'999U, 150'000U, 300'000U}) {
      INFO(released << " bytes released");
      out.release(released);
      std::size_t seen = 0;
      while (!out.sent() && !out.is_held()) {
        REQUIRE(out.send_some(ends.near).has_value());
        seen = receive();
      }
      while (seen < released) seen = receive();
      REQUIRE(seen == released);
      CHECK(out.sent() == (released == data.size()));
    }
    while (in.stage() != Stage::whole) receive();
  }
}

TEST_CASE("a peer that ends is noticed, after all that it has sent", "[stream_frame]") {
  for (const bool tcp : {false, true}) {
    IncomingFrame in;
    Ends ends = connected(tcp);
    OutgoingFrame out;
    out.start(proto::StreamPush(), {});
    REQUIRE(out.send_some(ends.near).has_value());
    { const StreamSocket closed = std::move(ends.near); }
    REQUIRE(in.receive_some(ends.far).has_value());
    REQUIRE(in.stage() == Stage::placing);
    REQUIRE(in.place({}).has_value());
    in.next();
    CHECK(in.receive_some(ends.far).error() == unavailable("the peer is gone"));
  }
}

TEST_CASE("a port that nobody listens at is an error that names it", "[stream_frame]") {
  const auto deadline = StreamSocket::Clock::now() + std::chrono::seconds(20);
  CHECK(StreamSocket::connect_tcp("127.0.0.1:7", 1, deadline, {}).error() ==
        unavailable("port 1 of 127.0.0.1: Connection refused"));
  CHECK(StreamSocket::connect_tcp("nowhere", 1, deadline, {}).error().code == Code::invalid);
  CHECK_FALSE(StreamSocket::connect_unix(new_local_socket_name()).has_value());
}

}  // namespace trainyard::runtime
