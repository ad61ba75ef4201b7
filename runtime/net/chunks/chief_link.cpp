#include "runtime/net/chunks/chief_link.h"

#include <chrono>
#include <optional>
#include <utility>

#include "runtime/net/waiting.h"

namespace trainyard::runtime {

ChiefLink::ChiefLink(LinkState& state, LinkConnections& connections)
    : state_(state), connections_(connections) {}

std::int64_t ChiefLink::ask_snapshot() {
  const std::lock_guard lock(state_.mutex);
  return state_.exchange.ask_snapshot();
}

void ChiefLink::begin_snapshot(std::int64_t snapshot, AfterSnapshot then) {
  const std::lock_guard lock(state_.mutex);
  state_.requests.begin_snapshot(snapshot, then);
  ask();
}

void ChiefLink::want_snapshot(AfterSnapshot then) {
  const std::lock_guard lock(state_.mutex);
  state_.exchange.want_snapshot(then);
}

std::int64_t ChiefLink::named_snapshot() const {
  const std::lock_guard lock(state_.mutex);
  return state_.exchange.named_snapshot();
}

Result<std::int64_t> ChiefLink::await_named_snapshot(std::int64_t wanted) {
  std::unique_lock lock(state_.mutex);
  std::optional<std::int64_t> named;
  TRY(wait(lock, [&] {
    named = state_.exchange.named_snapshot_from(wanted);
    return named.has_value();
  }));
  return *named;
}

std::vector<std::int64_t> ChiefLink::left_out() const {
  const std::lock_guard lock(state_.mutex);
  return state_.exchange.left_out();
}

Result<std::vector<WrittenShard>> ChiefLink::shards(SnapshotWriter::Request request) {
  std::unique_lock lock(state_.mutex);
  state_.requests.ask_shards(std::move(request));
  ask();
  TRY(wait(lock, [this] { return state_.requests.has_shards(); }));
  return state_.requests.take_shards();
}

Result<AlignedBuffer> ChiefLink::read_snapshot(std::int64_t snapshot) {
  std::unique_lock lock(state_.mutex);
  state_.requests.ask_weights(snapshot);
  ask();
  TRY(wait(lock, [this] { return state_.requests.has_weights(); }));
  return state_.requests.take_weights();
}

void ChiefLink::ask() {
  state_.ask_unanswered();
  connections_.ring();
}

Status ChiefLink::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_there) {
  const auto began = LinkPeers::Clock::now();
  while (!is_there()) {
    TRY(state_.may_wait(began));
    state_.changed.wait_for(lock, std::chrono::milliseconds(look_up_millis));
  }
  return ok();
}

}  // namespace trainyard::runtime
