// Gradients that come from their end on, in pieces, and parameters that go ahead of the answer.
#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/runtime/net/stream_client.h"

namespace trainyard::runtime::test {

// The system may keep as much as one to itself until more come: see StreamSocket::wake_at().
inline constexpr std::size_t piece = 256 << 10;
inline constexpr std::size_t pieces = 6;
inline constexpr std::size_t all_bytes = pieces * piece;
inline constexpr std::int64_t all_floats = all_bytes / sizeof(float);

inline GangSpec gang_of_pieces(std::int64_t workers) {
  return {.workers = workers, .elements = all_floats};
}

// A push whose pieces are all alike, in whichever order they come.
class Begun {
 public:
  explicit Begun(std::int64_t rank) : frame_(push_of(rank, 1, all_floats)) {
    gradient_ = frame_.data();
    frame_.clear_data();
  }
  // Of a worker that computes until so many pieces have left.
  [[nodiscard]] std::string head(std::size_t computed = 0) const {
    proto::StreamPush push;
    *push.mutable_frame() = frame_;
    for (std::size_t i = 0; i < pieces; ++i) push.add_pieces_from_end(piece);
    push.set_takes_tails_after(computed * piece);
    return StreamClient::head(push, all_bytes);
  }
  [[nodiscard]] std::string_view pieces_of(std::size_t count) const {
    return std::string_view(gradient_).substr(0, count * piece);
  }

 private:
  proto::PushFrame frame_;
  std::string gradient_;
};

// What the step makes where nothing goes ahead of its answer.
inline std::string parameters_of_step(std::int64_t workers) {
  const Gang gang(gang_of_pieces(workers));
  std::vector<StreamClient> clients;
  for (std::int64_t rank = 0; rank < workers; ++rank) {
    clients.push_back(worker(gang, rank, Door::tcp));
    REQUIRE(clients.back().send(push_of(rank, 1, all_floats)));
  }
  const auto answer = clients.front().receive();
  REQUIRE(answer.has_value());
  return answer->data();
}

// Tails until so many bytes have come, or what is none.
inline StreamClient::Message receive_tails(StreamClient& client, std::size_t count,
                                           std::string& ahead) {
  for (;;) {
    auto message = client.receive_message();
    REQUIRE(message.has_value());
    if (!message->pull.tail()) return *std::move(message);
    CHECK(message->pull.status() == 0);
    ahead = message->data + ahead;
    if (ahead.size() >= count) return *std::move(message);
  }
}

}  // namespace trainyard::runtime::test
