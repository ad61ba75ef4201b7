// A rank that never makes a gradient: it says hello to ps 0 and hears which ranks make each step.
#pragma once

#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/net/chunks/named_ranks.h"
#include "tests/runtime/chunks/gang.h"
#include "tests/support/waiting.h"

namespace trainyard::runtime::test {

class NameListener : FrameStream::Receiver {
 public:
  // It has been welcomed when this is over: it misses no step that is named from then on.
  NameListener(const GangScene& scene, std::int64_t rank, const std::string& address)
      : scene_(scene), stream_(connect(address)) {
    const std::string hello = encode_hello({.rank = rank, .plan = gang_plan, .token = gang_token});
    bool is_said = false;
    const auto said = stream_.send([&]() -> std::optional<FrameStream::Outgoing> {
      if (std::exchange(is_said, true)) return std::nullopt;
      return FrameStream::Outgoing{.header = {.kind = FrameKind::hello},
                                   .pieces = {std::as_bytes(std::span(hello))},
                                   .owner = nullptr};
    });
    REQUIRE(said.has_value());
    listen([this] { return is_welcomed_; });
  }

  // All of the job, once they are named.
  StepRanks made_by() {
    listen([this] { return made_by_.contains(scene_.max_steps); });
    return made_by_;
  }
  // Those that were heard.
  [[nodiscard]] const std::vector<std::int64_t>& snapshots() const { return snapshots_; }

 private:
  static StreamSocket connect(const std::string& address) {
    const int port = std::stoi(address.substr(address.rfind(':') + 1));
    auto socket = StreamSocket::connect_tcp(
        address, port, StreamSocket::Clock::now() + std::chrono::seconds(30), {});
    REQUIRE(socket.has_value());
    return *std::move(socket);
  }

  template <class Condition>
  void listen(Condition is_heard) {
    bool is_cut = false;
    const bool has_heard = eventually([&] {
      is_cut = !stream_.receive(*this).has_value();
      return is_cut || is_heard();
    });
    if (is_cut || !has_heard) throw std::runtime_error("ps 0 did not say it");
  }

  Result<std::span<std::byte>> place(const FrameHeader& /*header*/) override {
    return std::span<std::byte>();
  }
  Status take(const FrameHeader& header, std::span<const std::byte> payload) override {
    is_welcomed_ = is_welcomed_ || header.kind == FrameKind::welcome;
    if (header.kind != FrameKind::named) return ok();
    TRY_ASSIGN(made_by_[header.step],
               decode_ranks(payload, {.ranks = scene_.ranks, .aggregate = scene_.aggregate}));
    if (header.snapshot == header.step) snapshots_.push_back(header.step);
    return ok();
  }

  const GangScene scene_;
  FrameStream stream_;
  bool is_welcomed_ = false;
  StepRanks made_by_;
  std::vector<std::int64_t> snapshots_;
};

}  // namespace trainyard::runtime::test
