#include "runtime/net/chunks/server_connections.h"

#include <algorithm>
#include <utility>

#include "schemas/base/clock.h"
#include "schemas/base/log.h"
#include "schemas/files/secret.h"

namespace trainyard::runtime {
namespace {

// Who has not said who it is by then is closed. There are never more of them by TCP, nor by the
// Unix socket.
constexpr Millis hello_limit = seconds(10);
constexpr std::size_t strangers_max = 64;
// Of what a worker is told ahead of parameters: one that reads none of it is not a good one.
constexpr std::size_t small_frames_max = 4096;

}  // namespace

ServerConnections::ServerConnections(Rules rules, const FramePoll& poll,
                                     std::vector<StreamSocket> listeners, ConnectedWorkers& workers,
                                     ServerFrames& frames)
    : rules_(std::move(rules)),
      poll_(poll),
      listeners_(std::move(listeners)),
      workers_(workers),
      frames_(frames) {}

void ServerConnections::serve(const FramePoll::Event& event) {
  if (accept(event.key)) return;
  const auto found = connections_.find(event.key);
  if (found == connections_.end()) return;  // closed by an event before
  ServerConnection& connection = *found->second;
  if (event.has_room) connection.stream.room_came();
  if (!event.has_input) return;
  const Result<bool> received = connection.stream.frames().receive(connection);
  if (received.has_value()) return;
  const std::string why = received.error().message;
  if (connection.has_token && !connection.said_goodbye) connection.refuse(received.error());
  close(event.key, why);
}

// False: this is no listener.
bool ServerConnections::accept(std::uint64_t key) {
  const auto key_of = [](const StreamSocket& socket) { return poll_key(socket.descriptor()); };
  const auto listener = std::ranges::find(listeners_, key, key_of);
  if (listener == listeners_.end()) return false;
  accept_from(*listener);
  return true;
}

void ServerConnections::accept_from(const StreamSocket& listener) {
  while (auto socket = listener.accept()) {
    make_room(socket->is_unix());
    const std::uint64_t key = poll_key(socket->descriptor());
    auto connection = std::make_unique<ServerConnection>(
        *this, ServerConnection::Accepted{*std::move(socket), key, steady_now()});
    if (!connection->stream.join(poll_).has_value()) continue;
    connections_.insert_or_assign(key, std::move(connection));
  }
  if (SpareDescriptor::is_needed()) spare_.turn_away(listener);
}

// Whoever has waited longest has had most time to say hello. Those of this host, whose user is
// known, have places of their own.
void ServerConnections::make_room(bool is_local) {
  std::size_t count = 0;
  const ServerConnection* oldest = nullptr;
  for (const auto& [key, connection] : connections_) {
    if (connection->rank >= 0 || connection->is_local != is_local) continue;
    ++count;
    if (oldest == nullptr || connection->since < oldest->since) oldest = connection.get();
  }
  if (count >= strangers_max) close(oldest->key, "others call");
}

Result<std::span<std::byte>> ServerConnections::place(ServerConnection& connection,
                                                      const FrameHeader& header) {
  const bool says_hello = header.kind == FrameKind::hello;
  if (says_hello != (connection.rank < 0)) return invalid("a connection begins with one hello");
  if (says_hello) return std::span<std::byte>();
  return frames_.place(connection, header);
}

Status ServerConnections::take(ServerConnection& connection, const FrameHeader& header,
                               std::span<const std::byte> payload) {
  if (header.kind == FrameKind::hello) return take_hello(connection, header, payload);
  return frames_.take(connection, header, payload);
}

Status ServerConnections::take_hello(ServerConnection& connection, const FrameHeader& header,
                                     std::span<const std::byte> payload) {
  const auto* const text = reinterpret_cast<const char*>(payload.data());
  TRY_ASSIGN(const Hello hello, decode_hello({text, payload.size()}));
  if (!is_same_secret(hello.token, rules_.token)) return invalid("it is of another attempt");
  connection.has_token = true;
  if (hello.rank < 0 || hello.rank >= rules_.ranks) return invalid("there is no such rank");
  if (hello.plan != rules_.plan) return invalid("it cuts the parameters otherwise");
  if (!fingerprint_) fingerprint_ = hello.fingerprint;
  if (hello.fingerprint != *fingerprint_) {
    return conflict("this worker computes on " + hello.fingerprint + ", another one on " +
                    *fingerprint_ +
                    ": their gradients have other last bits; ask for one kind by "
                    "gpu_name");
  }
  const ServerConnection* const older = workers_.of(hello.rank);
  if (older != nullptr) close(older->key, "it has called anew");
  connection.rank = hello.rank;
  connection.stay_rounded = header.flag;
  workers_.add(connection);
  return frames_.joined(connection);
}

void ServerConnections::close(std::uint64_t key, const std::string& why) {
  const auto found = connections_.find(key);
  if (found == connections_.end()) return;
  const ServerConnection& connection = *found->second;
  if (connection.has_token && !connection.said_goodbye) {
    log_info("worker is gone", {{"rank", connection.rank}, {"why", why}});
  }
  if (workers_.remove(connection)) frames_.left(connection.rank);
  connections_.erase(found);  // its socket leaves the poll as it closes
}

void ServerConnections::drop_silent() {
  const Time now = steady_now();
  std::vector<std::uint64_t> silent;
  for (const auto& [key, connection] : connections_) {
    if (connection->rank < 0 && now - connection->since > hello_limit) silent.push_back(key);
  }
  for (const std::uint64_t key : silent) close(key, "it has not said who it is");
}

void ServerConnections::send_all() {
  for (ServerConnection* const connection : workers_.all()) {
    if (connection == nullptr) continue;
    const bool is_overdue = connection->small.size() > small_frames_max;
    if (connection->stream.waits_for_room() && !is_overdue) continue;
    const auto next = [&] { return frames_.next(*connection); };
    const Status sent = is_overdue ? unavailable("it does not read what it is told")
                                   : connection->stream.send(poll_, next);
    if (!sent.has_value()) close(connection->key, sent.error().message);
  }
}

}  // namespace trainyard::runtime
