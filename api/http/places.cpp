// Counting connections, and choosing the one that makes room.
#include "api/http/places.h"

#include <iterator>
#include <utility>

#include "api/http/connection.h"

namespace trainyard::api {

Place Places::enter() {
  std::shared_ptr<Connection> quietest;
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    count = ++count_;
    if (count > limits_.ordinary) quietest = take_quietest();
  }
  if (count <= limits_.ordinary) return Place::ordinary;
  // Ended outside of the lock: connections call quiet() and busy() with their own lock held.
  const bool ended = quietest && quietest->drop_if_quiet();
  if (ended && quietest->place() != Place::none) return quietest->place();
  return count <= limits_.ordinary + limits_.reserved ? Place::reserved : Place::none;
}

std::shared_ptr<Connection> Places::take_quietest() {
  while (!quiet_.empty()) {
    auto held = quiet_.front().held.lock();
    quiet_at_.erase(quiet_.front().name);
    quiet_.pop_front();
    if (held) return held;
  }
  return nullptr;
}

void Places::leave(const Connection* connection) {
  busy(connection);
  const std::lock_guard lock(mutex_);
  --count_;
}

void Places::quiet(const Connection* connection, std::weak_ptr<Connection> held) {
  const std::lock_guard lock(mutex_);
  if (quiet_at_.contains(connection)) return;
  quiet_.push_back({.name = connection, .held = std::move(held)});
  quiet_at_.emplace(connection, std::prev(quiet_.end()));
}

void Places::busy(const Connection* connection) {
  const std::lock_guard lock(mutex_);
  const auto found = quiet_at_.find(connection);
  if (found == quiet_at_.end()) return;
  quiet_.erase(found->second);
  quiet_at_.erase(found);
}

}  // namespace trainyard::api
