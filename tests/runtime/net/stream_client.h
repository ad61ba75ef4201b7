// A ps at its stream sockets as any program sees it: bytes of the client's choice.
#pragma once

#include <poll.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/net/stream_frame.h"
#include "schemas/base/check.h"
#include "schemas/wire/grpc_status.h"
#include "tests/runtime/net/stock_stream.h"

namespace trainyard::runtime::test {

inline proto::PsStatus describe(const std::string& address) {
  const auto stub =
      proto::Params::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  proto::Caller caller;
  caller.set_token("token");
  proto::PsStatus status;
  grpc::ClientContext context;
  attach_token(context, "token");
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  static_cast<void>(stub->Describe(&context, caller, &status));
  return status;
}

enum class Door { unix_socket, tcp };
inline constexpr std::array doors{Door::unix_socket, Door::tcp};

inline StreamSocket knock(const std::string& address, const proto::PsStatus& status, Door door) {
  const auto deadline = StreamSocket::Clock::now() + std::chrono::seconds(20);
  auto socket = door == Door::tcp
                    ? StreamSocket::connect_tcp(address, status.stream_port(), deadline, {})
                    : StreamSocket::connect_unix(status.stream_socket());
  return *std::move(socket);
}
inline StreamSocket knock(const std::string& address, Door door) {
  return knock(address, describe(address), door);
}

// Waits for its socket; makes no assertions.
class StreamClient {
 public:
  explicit StreamClient(const std::string& address, Door door = Door::tcp)
      : socket_(knock(address, door)) {}
  explicit StreamClient(StreamSocket socket) : socket_(std::move(socket)) {}

  // What a frame of `payload_bytes` begins with.
  static std::string head(const google::protobuf::MessageLite& header,
                          std::uint64_t payload_bytes) {
    const std::string bytes = header.SerializeAsString();
    const auto header_bytes = static_cast<std::uint32_t>(bytes.size());
    std::string head = "TYF1";
    head.append(reinterpret_cast<const char*>(&header_bytes), sizeof header_bytes);
    head.append(reinterpret_cast<const char*>(&payload_bytes), sizeof payload_bytes);
    return head + bytes;
  }

  // False when the ps takes no more.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const iovec piece{.iov_base = const_cast<char*>(bytes.data()),  // NOLINT: only read
                        .iov_len = bytes.size()};
      const auto sent = socket_.send({&piece, 1});
      if (!sent.has_value() || (*sent == 0 && !wait(POLLOUT))) return false;
      bytes.remove_prefix(*sent);
    }
    return true;
  }
  // `push`'s data is the payload.
  bool send(proto::PushFrame push) {
    const std::string data = push.data();
    push.clear_data();
    proto::StreamPush message;
    *message.mutable_frame() = std::move(push);
    return send(head(message, data.size()) + data);
  }
  bool send_hello(const std::string& token = "token") {
    proto::StreamPush message;
    message.mutable_hello()->set_token(token);
    return send(head(message, 0));
  }

  // The next frame, whatever it says; that the ps is gone.
  struct Message {
    proto::StreamPull pull;
    std::string data;  // its payload
  };
  Result<Message> receive_message() {
    using Stage = IncomingFrame::Stage;
    proto::StreamPull pull;
    std::string data;
    while (incoming_.stage() != Stage::whole) {
      TRY_ASSIGN(const bool drained, incoming_.receive_some(socket_));
      if (incoming_.stage() == Stage::placing) {
        if (!pull.ParseFromString(std::string(incoming_.header()))) return invalid("no StreamPull");
        data.resize(incoming_.payload_bytes());
        const std::array places{std::as_writable_bytes(std::span(data))};
        TRY(incoming_.place(places));
      } else if (drained && incoming_.stage() != Stage::whole && !wait(POLLIN)) {
        return unavailable("no answer");
      }
    }
    incoming_.next();
    return Message{std::move(pull), std::move(data)};
  }
  // There is something to receive, now.
  [[nodiscard]] bool has_news() const {
    pollfd looked{.fd = socket_.descriptor(), .events = POLLIN, .revents = 0};
    return ::poll(&looked, 1, 0) > 0;
  }
  // The ps has closed its end, and not in good order.
  [[nodiscard]] bool is_cut() const {
    pollfd looked{.fd = socket_.descriptor(), .events = 0, .revents = 0};
    return ::poll(&looked, 1, 0) > 0 && (looked.revents & (POLLERR | POLLHUP)) != 0;
  }
  // The answer, with its payload as data; the ps' refusal, or that it is gone.
  Result<proto::PullFrame> receive() {
    TRY_ASSIGN(Message message, receive_message());
    proto::StreamPull& pull = message.pull;
    if (pull.status() != 0) {
      return from_grpc({static_cast<grpc::StatusCode>(pull.status()), pull.message()});
    }
    pull.mutable_frame()->set_data(std::move(message.data));
    return pull.frame();
  }
  Result<proto::PullFrame> greet(const std::string& token = "token") {
    send_hello(token);
    return receive();
  }
  Result<proto::PullFrame> exchange(proto::PushFrame push) {
    send(std::move(push));
    return receive();
  }

 private:
  bool wait(short events) {
    pollfd waiting{.fd = socket_.descriptor(), .events = events, .revents = 0};
    return ::poll(&waiting, 1, 20'000) > 0;
  }

  StreamSocket socket_;
  IncomingFrame incoming_;
};

// Frames as a worker of `small_gang` sends them.
inline proto::PushFrame push_of(std::int64_t rank, std::int64_t step,
                                std::int64_t floats = elements) {
  proto::PushFrame frame;
  frame.set_token("token");
  frame.set_rank(rank);
  frame.set_step(step);
  frame.set_base_version(step - 1);
  frame.set_examples(1);
  const std::vector<float> gradient(static_cast<std::size_t>(floats), 1.0F);
  frame.set_data(
      std::string(reinterpret_cast<const char*>(gradient.data()), gradient.size() * sizeof(float)));
  return frame;
}
inline proto::PushFrame pull_of(std::int64_t rank, std::int64_t at_least = 0) {
  proto::PushFrame frame = push_of(rank, at_least, 0);
  frame.set_base_version(0);
  frame.set_examples(0);
  return frame;
}

// One that the ps knows and has answered.
inline StreamClient worker(const Gang& gang, std::int64_t rank, Door door = Door::tcp) {
  StreamClient client(gang.addresses().front(), door);
  ENSURE(client.greet().has_value());
  ENSURE(client.exchange(pull_of(rank)).has_value());
  return client;
}

}  // namespace trainyard::runtime::test
