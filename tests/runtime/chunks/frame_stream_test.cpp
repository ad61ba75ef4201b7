// Frames between two ends of a socket: what came is handed out, and nothing of it waits for what
// comes next.
#include "runtime/net/chunks/frame_stream.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "tests/support/waiting.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t piece_bytes = 100 << 10;  // no multiple of what wakes

// Fills a buffer of its own again and again.
class Counter : public FrameStream::Receiver {
 public:
  Result<std::span<std::byte>> place(const FrameHeader& header) override {
    if (header.bytes <= small_payload_bytes_max) return std::span<std::byte>();
    return std::span(room_).first(header.bytes);
  }
  Status take(const FrameHeader& header, std::span<const std::byte> payload) override {
    bytes += payload.size();
    if (header.kind == FrameKind::goodbye) ++goodbyes;
    return ok();
  }

  std::size_t bytes = 0;
  int goodbyes = 0;

 private:
  std::vector<std::byte> room_ = std::vector<std::byte>(piece_bytes);
};

struct Ends {
  FrameStream here;
  FrameStream there;
};

Ends connected() {
  auto listener = StreamSocket::listen_tcp("127.0.0.1:0");
  REQUIRE(listener.has_value());
  auto called =
      StreamSocket::connect_tcp("127.0.0.1:0", listener->port(), in_patience(), std::stop_token());
  REQUIRE(called.has_value());
  std::optional<StreamSocket> accepted;
  REQUIRE(eventually([&] { return (accepted = listener->accept()).has_value(); }));
  return {FrameStream(*std::move(called)), FrameStream(*std::move(accepted))};
}

bool await(const FrameStream& stream, short events) {
  pollfd place{.fd = stream.socket().descriptor(), .events = events, .revents = 0};
  return ::poll(&place, 1, static_cast<int>(std::chrono::milliseconds(patience).count())) == 1;
}

// Pieces, and then a goodbye.
void send(FrameStream& stream, int pieces) {
  const std::vector<std::byte> piece(piece_bytes);
  int sent = 0;
  const auto next = [&]() -> std::optional<FrameStream::Outgoing> {
    if (sent > pieces) return std::nullopt;
    if (sent++ == pieces) {
      return FrameStream::Outgoing{
          .header = {.kind = FrameKind::goodbye}, .pieces = {}, .owner = nullptr};
    }
    return FrameStream::Outgoing{
        .header = {.kind = FrameKind::gradient}, .pieces = {piece}, .owner = nullptr};
  };
  for (;;) {
    const auto all = stream.send(next);
    if (!all.has_value() || *all || !await(stream, POLLOUT)) return;
  }
}

void send_bytes(const FrameStream& stream, std::span<const std::byte> bytes) {
  const iovec piece{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
  const auto sent = stream.socket().send(std::span(&piece, 1));
  REQUIRE(sent.has_value());
  REQUIRE(*sent == bytes.size());
}

}  // namespace

TEST_CASE("what has come by a socket is handed out, though nothing comes behind it") {
  Ends ends = connected();
  Counter counter;
  // As much as is received at a time, and about it.
  for (int pieces = 30; pieces < 35; ++pieces) {
    for (int round = 0; round < 20; ++round) {
      counter = {};
      const std::jthread sender([&] { send(ends.here, pieces); });
      while (counter.goodbyes == 0) {
        REQUIRE(await(ends.there, POLLIN));
        REQUIRE(ends.there.receive(counter).has_value());
      }
      CHECK(counter.bytes == static_cast<std::size_t>(pieces) * piece_bytes);
    }
  }
}

TEST_CASE("what comes behind a file is handed out with it") {
  const std::string name = "trainyard test of a file " + std::to_string(::getpid());
  const auto listener = StreamSocket::listen_unix(name);
  REQUIRE(listener.has_value());
  FrameStream here(*StreamSocket::connect_unix(name));
  std::optional<StreamSocket> accepted;
  REQUIRE(eventually([&] { return (accepted = listener->accept()).has_value(); }));
  FrameStream there(*std::move(accepted));
  const Descriptor file(::memfd_create("test", MFD_CLOEXEC));
  int sent = 0;
  REQUIRE(here.send([&]() -> std::optional<FrameStream::Outgoing> {
                if (++sent > 2) return std::nullopt;
                return FrameStream::Outgoing{.header = {.kind = FrameKind::goodbye},
                                             .pieces = {},
                                             .owner = nullptr,
                                             .passed = sent == 1 ? file.get() : -1};
              })
              .has_value());
  Counter counter;
  REQUIRE(there.receive(counter).has_value());  // a poll that reports once tells no more of it
  CHECK(counter.goodbyes == 2);
  CHECK(there.take_passed());
}

TEST_CASE("an end that closes is told of, though all that came before was read") {
  Ends ends = connected();
  Counter counter;
  send(ends.here, 1);
  ::shutdown(ends.here.socket().descriptor(), SHUT_WR);
  Result<bool> received(true);
  while (received.has_value()) {
    REQUIRE(await(ends.there, POLLIN));
    received = ends.there.receive(counter);
  }
  CHECK(counter.goodbyes == 1);
  CHECK(received.error().code == Code::unavailable);
}

TEST_CASE("a part of a payload wakes nobody, its end does") {
  Ends ends = connected();
  Counter counter;
  const auto head = encode_header({.kind = FrameKind::gradient, .bytes = piece_bytes});
  const std::vector<std::byte> payload(piece_bytes);
  const StreamSocket& socket = ends.there.socket();
  const auto wakes_now = [&] {
    pollfd place{.fd = socket.descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&place, 1, 0) == 1;
  };
  const auto waiting_bytes = [&] {
    int bytes = 0;
    return ::ioctl(socket.descriptor(), FIONREAD, &bytes) == 0 ? bytes : -1;
  };
  constexpr std::size_t part = 8 << 10;
  for (int round = 0; round < 3; ++round) {
    send_bytes(ends.here, head);
    REQUIRE(await(ends.there, POLLIN));
    REQUIRE(ends.there.receive(counter).has_value());
    send_bytes(ends.here, std::span(payload).first(part));
    REQUIRE(eventually([&] { return waiting_bytes() == part; }));
    CHECK_FALSE(wakes_now());
    send_bytes(ends.here, std::span(payload).subspan(part));
    while (counter.bytes < static_cast<std::size_t>(round + 1) * piece_bytes) {
      REQUIRE(await(ends.there, POLLIN));
      REQUIRE(ends.there.receive(counter).has_value());
    }
  }
}

TEST_CASE("who waits for a payload is told that its peer is gone, though less is there") {
  Ends ends = connected();
  Counter counter;
  const auto head = encode_header({.kind = FrameKind::gradient, .bytes = piece_bytes});
  send_bytes(ends.here, head);
  REQUIRE(await(ends.there, POLLIN));
  REQUIRE(ends.there.receive(counter).has_value());
  send_bytes(ends.here, std::vector<std::byte>(100));
  ::shutdown(ends.here.socket().descriptor(), SHUT_WR);
  REQUIRE(await(ends.there, POLLIN));
  CHECK_FALSE(ends.there.receive(counter, FrameStream::Behind::perhaps_the_end).has_value());
}

}  // namespace trainyard::runtime
