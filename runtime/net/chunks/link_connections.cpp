#include "runtime/net/chunks/link_connections.h"

#include <chrono>
#include <utility>

#include "runtime/net/chunks/link_connection.h"
#include "runtime/net/waiting.h"

namespace trainyard::runtime {

LinkConnections::LinkConnections(FramePoll poll, std::vector<Connector::Target> targets,
                                 LinkState& state, LinkFrames& frames)
    : state_(state),
      frames_(frames),
      poll_(std::move(poll)),
      connections_(targets.size()),
      connector_(std::move(targets), [this] { ring(); }),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

LinkConnections::~LinkConnections() {
  thread_.request_stop();
  ring();
}

void LinkConnections::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    move_bytes();
    std::unique_lock lock(state_.mutex);
    state_.look_for_gone();
    if (caller_moves_) {
      ring();  // it may have what it waits for
      moved_.wait_for(lock, std::chrono::milliseconds(look_up_millis),
                      [this] { return !caller_moves_; });
    }
    const bool has_failed = state_.failed.has_value();
    lock.unlock();  // what others do as they are stopped is not known here
    if (has_failed) state_.over.request_stop();
  }
}

void LinkConnections::Here::move_bytes(std::unique_lock<std::mutex>& lock) const {
  lock.unlock();
  connections_.move_bytes();
  lock.lock();
  connections_.state_.look_for_gone();
}

// Both threads wait at the poll; of those that do it wakes one, the newest, and once for each
// event.
void LinkConnections::move_bytes() {
  FramePoll::Events events;
  const auto found = poll_.wait(events);
  if (found.empty()) return;
  const std::lock_guard io(io_mutex_);
  for (const FramePoll::Event& event : found) {
    event.is_bell ? add_connected() : serve(event);
    send_all();
  }
}

bool LinkConnections::try_send() {
  const std::unique_lock io(io_mutex_, std::try_to_lock);
  if (io.owns_lock()) send_all();
  return io.owns_lock();
}

void LinkConnections::add_connected() {
  for (auto& [ps, socket] : connector_.take()) add(ps, std::move(socket));
}

void LinkConnections::add(std::size_t ps, StreamSocket socket) {
  auto connection = std::make_unique<LinkConnection>(frames_, ps, std::move(socket));
  frames_.joined(*connection);
  if (!connection->stream.join(poll_).has_value()) return lose(ps, "no poll");
  connections_[ps] = std::move(connection);
}

void LinkConnections::serve(const FramePoll::Event& event) {
  const std::size_t ps = event.key;
  if (!connections_[ps]) return;
  LinkConnection& connection = *connections_[ps];
  if (event.has_room) connection.stream.room_came();
  if (!event.has_input) return;
  using enum FrameStream::Behind;
  const auto behind = event.is_end ? perhaps_the_end : nothing;
  for (;;) {  // until there is no more: it is reported once
    const Result<bool> received = connection.stream.frames().receive(connection, behind);
    if (!received.has_value()) return lose(ps, received.error().message);
    if (*received) return;
    send_all();
    if (connections_[ps].get() != &connection) return;
  }
}

void LinkConnections::lose(std::size_t ps, const std::string& why) {
  const bool was_welcomed = connections_[ps] && connections_[ps]->is_welcomed;
  connections_[ps].reset();
  const auto wanted = frames_.lost({.ps = ps, .was_welcomed = was_welcomed, .why = why});
  if (wanted == LinkFrames::Wanted::another) connector_.want(ps);
}

// ps 0 last: what is reported to it is that all has left to all.
void LinkConnections::send_all() {
  for (std::size_t ps = connections_.size(); ps-- > 0;) {
    if (!connections_[ps] || connections_[ps]->stream.waits_for_room()) continue;
    LinkConnection& connection = *connections_[ps];
    const Status sent = connection.stream.send(poll_, [&] { return frames_.next(connection); });
    if (!sent.has_value()) lose(ps, "it cannot be sent to");
  }
}

}  // namespace trainyard::runtime
