// What a worker asks of its ps beside the exchange, and waits for.
#include "runtime/net/chunks/link_connection.h"
#include "runtime/net/chunks/worker_link.h"
#include "runtime/net/waiting.h"

namespace trainyard::runtime {
namespace {

// A ps that is gone already releases nobody.
constexpr std::chrono::seconds release_limit{10};

}  // namespace

// A connection that is not there is told when it is.
void WorkerLink::say_unanswered() {
  for (std::size_t ps = 0; ps < small_.size(); ++ps) {
    for (auto& frame : requests_.unanswered(ps)) small_[ps].push_back(std::move(frame));
  }
  ring();
}

std::int64_t WorkerLink::marked_snapshot() const {
  const std::lock_guard lock(mutex_);
  return plain_ == nullptr ? 0 : plain_->marked();
}

std::vector<std::int64_t> WorkerLink::rows_ports() const {
  const std::lock_guard lock(mutex_);
  return rows_ports_;
}

void WorkerLink::begin_snapshot(std::int64_t snapshot, LinkRequests::Then then) {
  const std::lock_guard lock(mutex_);
  requests_.begin_snapshot(snapshot, then);
  say_unanswered();
}

Result<std::int64_t> WorkerLink::await_named_snapshot(std::int64_t wanted) {
  std::unique_lock lock(mutex_);
  TRY(wait(
      lock,
      [&] {
        const BackupExchange::Named& newest = backup_->named();
        return newest.snapshot >= wanted || newest.step >= options_.max_steps;
      },
      Waits::idle));
  return backup_->named().snapshot >= wanted ? backup_->named().snapshot : 0;
}

Result<std::vector<WrittenShard>> WorkerLink::shards(SnapshotWriter::Request request) {
  std::unique_lock lock(mutex_);
  requests_.ask_shards(std::move(request));
  say_unanswered();
  TRY(wait(
      lock, [this] { return requests_.has_shards(); }, Waits::idle));
  return requests_.take_shards();
}

Result<AlignedBuffer> WorkerLink::read_snapshot(std::int64_t snapshot) {
  std::unique_lock lock(mutex_);
  requests_.ask_weights(snapshot);
  say_unanswered();
  TRY(wait(
      lock, [this] { return requests_.has_weights(); }, Waits::idle));
  return requests_.take_weights();
}

void WorkerLink::leave(LinkRequests::Leaving who) {
  std::unique_lock lock(mutex_);
  requests_.leave(who);
  say_unanswered();
  const auto deadline = Clock::now() + release_limit;
  const auto is_over = [&] {
    return requests_.is_released() || options_.stop.stop_requested() || Clock::now() > deadline;
  };
  while (!is_over()) changed_.wait_for(lock, std::chrono::milliseconds(look_up_millis));
}

}  // namespace trainyard::runtime
