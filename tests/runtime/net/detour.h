// A way from a worker to a ps that can be cut while both go on: by stream sockets and by gRPC. What
// is on its way is lost then, and whoever calls again is let through. (Relay, of relay.h, hides all
// but one TCP port, and once it is cut nobody gets through.)
#pragma once

#include <poll.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/net/control_calls.h"
#include "runtime/net/local_socket.h"
#include "runtime/net/stream_socket.h"
#include "schemas/base/check.h"
#include "tests/runtime/net/gang.h"
#include "tests/support/waiting.h"

namespace trainyard::runtime::test {

class CuttingRelay {
 public:
  enum class Way { up, down };
  // A port of this host, or the name of an abstract Unix socket.
  struct Place {
    std::string name;
    int port = 0;
  };

  // Listens in a place of the same kind.
  explicit CuttingRelay(Place to) : to_(std::move(to)) {
    if (!to_.name.empty()) here_.name = new_local_socket_name();
    auto listening = to_.name.empty() ? StreamSocket::listen_tcp("127.0.0.1:0")
                                      : StreamSocket::listen_unix(here_.name);
    ENSURE(listening.has_value());
    if (to_.name.empty()) here_.port = listening->port();
    thread_ = std::jthread([this, socket = std::make_shared<StreamSocket>(std::move(*listening))](
                               const std::stop_token& stop) { run(*socket, stop); });
  }
  CuttingRelay(const CuttingRelay&) = delete;
  CuttingRelay& operator=(const CuttingRelay&) = delete;

  [[nodiscard]] const Place& here() const { return here_; }

  // As soon as there is more to pass that way than so many bytes from now on.
  void cut_after(Way way, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    left_[index_of(way)] = bytes;
  }
  // So whenever it is cut, again.
  void cut_each_after(Way way, std::size_t bytes) {
    cut_after(way, bytes);
    const std::lock_guard lock(mutex_);
    each_[index_of(way)] = bytes;
  }
  // Until it is cut nothing passes that way.
  void hold(Way way) {
    const std::lock_guard lock(mutex_);
    held_[index_of(way)] = true;
  }
  void cut() {
    const std::lock_guard lock(mutex_);
    cuts_now_ = true;
  }
  // Until it was cut so often, and so many bytes have gone up since.
  void wait_until_mended(int cuts, std::size_t bytes) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this, cuts, bytes] {
      return cuts_ > cuts || (cuts_ == cuts && up_since_ >= bytes);
    });
  }
  // How often it was cut.
  [[nodiscard]] int cuts() {
    const std::lock_guard lock(mutex_);
    return cuts_;
  }

 private:
  static constexpr int kTurnMillis = 10;
  struct Pair {
    StreamSocket near;
    StreamSocket far;
  };
  enum class Passed { on, ended, cut };

  static std::size_t index_of(Way way) { return static_cast<std::size_t>(way); }

  void run(const StreamSocket& listening, const std::stop_token& stop) {
    std::list<Pair> pairs;
    while (!stop.stop_requested()) {
      std::vector<pollfd> watched{{.fd = listening.descriptor(), .events = POLLIN, .revents = 0}};
      for (const Pair& pair : pairs) {
        watched.push_back({pair.near.descriptor(), events_of(Way::up), 0});
        watched.push_back({pair.far.descriptor(), events_of(Way::down), 0});
      }
      ::poll(watched.data(), watched.size(), kTurnMillis);
      std::size_t at = 1;
      bool is_cut = takes_cut();
      for (auto pair = pairs.begin(); pair != pairs.end() && !is_cut;) {
        Passed passed = pass(watched[at++].revents, pair->near, pair->far, Way::up);
        if (passed == Passed::on) {
          passed = pass(watched[at].revents, pair->far, pair->near, Way::down);
        }
        ++at;
        is_cut = passed == Passed::cut;
        pair = passed == Passed::ended ? pairs.erase(pair) : std::next(pair);
      }
      if (is_cut) {
        note_cut();  // who hears of it finds it counted
        pairs.clear();
      }
      if (watched.front().revents != 0) accept(listening, pairs, stop);
    }
  }

  void accept(const StreamSocket& listening, std::list<Pair>& pairs, const std::stop_token& stop) {
    auto near = listening.accept();
    auto far = to_.name.empty()
                   ? StreamSocket::connect_tcp("127.0.0.1:0", to_.port,
                                               StreamSocket::Clock::now() + patience, stop)
                   : StreamSocket::connect_unix(to_.name);
    if (near && far.has_value()) pairs.push_back({std::move(*near), std::move(*far)});
  }

  short events_of(Way way) {
    const std::lock_guard lock(mutex_);
    return held_[index_of(way)] ? short{0} : short{POLLIN};
  }
  std::size_t room(Way way, std::size_t max) {
    const std::lock_guard lock(mutex_);
    return std::min(max, left_[index_of(way)].value_or(max));
  }
  void take(Way way, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (auto& left = left_[index_of(way)]) *left -= std::min(*left, bytes);
    if (way == Way::up) up_since_ += bytes;
    changed_.notify_all();
  }
  bool takes_cut() {
    const std::lock_guard lock(mutex_);
    return std::exchange(cuts_now_, false);
  }
  void note_cut() {
    const std::lock_guard lock(mutex_);
    left_ = each_;
    held_ = {};
    ++cuts_;
    up_since_ = 0;
    changed_.notify_all();
  }

  Passed pass(short news, const StreamSocket& from, const StreamSocket& to, Way way) {
    if (news == 0) return Passed::on;
    std::array<char, 16384> bytes;
    const std::size_t most = room(way, bytes.size());
    if (most == 0) return Passed::cut;
    const iovec place{bytes.data(), most};
    const auto count = from.receive({&place, 1});
    if (!count.has_value()) return Passed::ended;
    take(way, *count);
    for (std::size_t sent = 0; sent < *count;) {
      const iovec left{bytes.data() + sent, *count - sent};
      const auto more = to.send({&left, 1});
      if (!more.has_value()) return Passed::ended;
      sent += *more;
      pollfd full{.fd = to.descriptor(), .events = POLLOUT, .revents = 0};
      if (sent < *count) ::poll(&full, 1, kTurnMillis);
    }
    return Passed::on;
  }

  const Place to_;
  Place here_;
  std::mutex mutex_;
  std::array<std::optional<std::size_t>, 2> left_;  // by way
  std::array<std::optional<std::size_t>, 2> each_;  // likewise
  std::array<bool, 2> held_{};                      // likewise
  bool cuts_now_ = false;
  int cuts_ = 0;
  std::size_t up_since_ = 0;  // bytes, since the last cut
  std::condition_variable changed_;
  std::jthread thread_;
};

inline Result<proto::PsStatus> status_of(const std::string& ps, std::int64_t rank) {
  const auto stub =
      proto::Params::NewStub(grpc::CreateChannel(ps, grpc::InsecureChannelCredentials()));
  proto::Caller caller;
  caller.set_token("token");
  caller.set_rank(rank);
  return describe_ps(*stub, caller, patience, {});
}

// Waits until the ps knows of that step of the rank.
inline bool has_taken(const std::string& ps, std::int64_t rank, std::int64_t step) {
  return eventually([&] {
    const auto status = status_of(ps, rank);
    return status.has_value() && status->rank_step() >= step;
  });
}

// To a ps by one transport, through a relay. By gRPC all calls go through it; else the ps' status
// names the relay's socket.
class Detour : private proto::Params::Service {
 public:
  Detour(std::string ps, Gang::Transport transport)
      : ps_(std::move(ps)), transport_(transport), relay_(place_of(ps_, transport)) {
    address_ = "127.0.0.1:" + std::to_string(relay_.here().port);
    if (transport == Gang::Transport::grpc) return;
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    ENSURE(server_);
    address_ = "127.0.0.1:" + std::to_string(port);
  }
  Detour(const Detour&) = delete;
  Detour& operator=(const Detour&) = delete;
  ~Detour() override {
    if (server_) server_->Shutdown(std::chrono::system_clock::now());
  }

  [[nodiscard]] const std::string& address() const { return address_; }
  CuttingRelay& relay() { return relay_; }

 private:
  static CuttingRelay::Place place_of(const std::string& ps, Gang::Transport transport) {
    const auto status = status_of(ps, 0);
    ENSURE(status.has_value());
    if (transport == Gang::Transport::unix_socket) return {status->stream_socket(), 0};
    if (transport == Gang::Transport::tcp) return {"", status->stream_port()};
    return {"", std::stoi(ps.substr(ps.rfind(':') + 1))};
  }

  grpc::Status Describe(grpc::ServerContext* /*context*/, const proto::Caller* caller,
                        proto::PsStatus* answer) override {
    const auto status = status_of(ps_, caller->rank());
    if (!status.has_value()) return {grpc::StatusCode::UNAVAILABLE, status.error().message};
    *answer = *status;
    answer->clear_shared_socket();
    answer->set_stream_socket(relay_.here().name);
    answer->set_stream_port(relay_.here().port);
    return grpc::Status::OK;
  }

  const std::string ps_;
  const Gang::Transport transport_;
  CuttingRelay relay_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace trainyard::runtime::test
