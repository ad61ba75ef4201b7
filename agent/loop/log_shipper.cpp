#include "agent/loop/log_shipper.h"

#include <chrono>

#include "schemas/base/log.h"

namespace trainyard::agent {
namespace {

constexpr std::size_t piece_bytes_max = 256 * 1024;
constexpr std::chrono::milliseconds ship_interval{100};
constexpr std::chrono::milliseconds bound_interval{100};
constexpr std::chrono::milliseconds unreachable_pause{1000};

}  // namespace

LogShipper::LogShipper(ServerCalls& server, std::int64_t bytes_max, OnEnd on_end)
    : server_(server), bytes_max_(bytes_max), on_end_(std::move(on_end)) {}

LogShipper::~LogShipper() { stop(); }

void LogShipper::run() {
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
  bounding_ = std::jthread([this](const std::stop_token& stop) { bound(stop); });
}

void LogShipper::stop() {
  thread_.request_stop();
  bounding_.request_stop();
  if (thread_.joinable()) thread_.join();
  if (bounding_.joinable()) bounding_.join();
}

void LogShipper::add(const TaskFiles& task) {
  const std::lock_guard lock(mutex_);
  const auto [entry, added] = logs_.try_emplace(task.key);
  Shipping& shipping = entry->second;
  shipping.task = task;
  if (!added || !task.is_found) return changed_.notify_all();
  const LogProgress progress = written_progress(task.log());
  shipping.offset = progress.shipped;
  shipping.cut = progress.cut;
  changed_.notify_all();
}

void LogShipper::finish(const TaskKey& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = logs_.find(key); found != logs_.end()) {
    bound_one(key, found->second);  // a last time: what is shipped from now on stays as it is
    found->second.finished = true;
  }
  hurry_ = true;
  changed_.notify_all();
}

void LogShipper::forget(const TaskKey& key) {
  const std::lock_guard lock(mutex_);
  logs_.erase(key);
}

void LogShipper::work(const std::stop_token& stop) {
  std::chrono::milliseconds pause = ship_interval;
  while (!stop.stop_requested()) {
    std::map<TaskKey, Shipping> logs;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [this] { return !logs_.empty(); });
      changed_.wait_for(lock, stop, pause, [this] { return hurry_; });
      hurry_ = false;
      logs = logs_;
    }
    pause = ship_interval;
    for (const auto& [key, shipping] :
         logs) {  // one piece each, so that no log waits for another's end
      if (stop.stop_requested()) return;
      const Outcome outcome = ship_piece(shipping);
      if (outcome == Outcome::more) pause = std::chrono::milliseconds(0);
      if (outcome == Outcome::unreachable) {
        pause = unreachable_pause;
        break;
      }
    }
  }
}

void LogShipper::bound(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [this] { return !logs_.empty(); });
      bound_next_.wait_for(lock, stop, bound_interval, [] { return false; });
    }
    bound_all();
  }
}

// Under the lock: while a cut is made, nothing is read by where the last one was, and no task ends.
void LogShipper::bound_all() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, shipping] : logs_) bound_one(key, shipping);
}

void LogShipper::bound_one(const TaskKey& key, Shipping& shipping) const {
  if (shipping.finished || shipping.unbounded) return;
  const auto cut = bound_log({.path = shipping.task.log(),
                              .bytes_max = bytes_max_,
                              .shipped = shipping.offset,
                              .cut = shipping.cut});
  if (cut) {
    shipping.cut = *cut;
    return;
  }
  shipping.unbounded = true;  // said once
  log_warning("log_not_bounded", {{"task", to_string(key)}, {"error", cut.error().message}});
}

LogShipper::Outcome LogShipper::ship_piece(const Shipping& shipping) {
  const TaskFiles& task = shipping.task;
  Result<std::string> data = shipping.refused ? std::string()
                                              : read_log(task.log(), shipping.cut,
                                                         {.offset = shipping.offset,
                                                          .bytes_max = piece_bytes_max,
                                                          .ended = shipping.finished});
  if (!data) {
    note_failure(task.key, invalid(data.error().message));
    return Outcome::nothing_new;
  }
  if (data->empty()) {
    if (shipping.finished) {
      forget(task.key);
      on_end_(task.key);
    }
    return Outcome::nothing_new;
  }
  const Result<std::int64_t> stored = server_.append_log({.key = task.key,
                                                          .token = task.token,
                                                          .offset = shipping.offset,
                                                          .data = std::move(data).value()});
  if (stored) {
    note_stored(task.key, *stored);
    return Outcome::more;
  }
  return note_failure(task.key, stored.error()) ? Outcome::nothing_new : Outcome::unreachable;
}

void LogShipper::note_stored(const TaskKey& key, std::int64_t stored) {
  const std::lock_guard lock(mutex_);
  const auto found = logs_.find(key);
  if (found == logs_.end()) return;
  Shipping& shipping = found->second;
  shipping.offset = stored;
  // Where it cannot be written more is shipped again, and dropped.
  static_cast<void>(write_progress(shipping.task.log(), {.shipped = stored, .cut = shipping.cut}));
  shipping.retry = Retry{};
}

bool LogShipper::note_failure(const TaskKey& key, const Error& error) {
  const std::lock_guard lock(mutex_);
  const auto found = logs_.find(key);
  if (found == logs_.end()) return true;
  if (!found->second.retry.gives_up_after(error)) return false;
  found->second.refused = true;
  log_warning("log_refused", {{"task", to_string(key)}, {"error", error.message}});
  return true;
}

}  // namespace trainyard::agent
