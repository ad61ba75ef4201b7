#include "agent/loop/event_tail.h"

#include <chrono>

#include "agent/host/tail.h"
#include "schemas/base/log.h"
#include "schemas/wire/run_event_json.h"

namespace trainyard::agent {
namespace {

constexpr std::chrono::milliseconds look_interval{20};
constexpr std::size_t read_bytes_max = 256 * 1024;
constexpr std::int64_t window_bytes = 1024 * 1024;

std::vector<RunEvent> parse_events(const TaskKey& key, const std::vector<TailLine>& lines) {
  std::vector<RunEvent> events;
  for (const TailLine& line : lines) {
    Result<RunEvent> event = parse_run_event(line.text, line.offset);
    if (event) {
      events.push_back(std::move(event).value());
    } else {
      log_warning(
          "run_event_dropped",
          {{"task", to_string(key)}, {"offset", line.offset}, {"error", event.error().message}});
    }
  }
  return events;
}

}  // namespace

EventTail::EventTail(OnEvents on_events, OnEnd on_end)
    : on_events_(std::move(on_events)), on_end_(std::move(on_end)) {}

EventTail::~EventTail() { stop(); }

void EventTail::run() {
  thread_ = std::jthread([this](const std::stop_token& stop) { follow(stop); });
}

void EventTail::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void EventTail::add(const TaskFiles& task) {
  const std::lock_guard lock(mutex_);
  tasks_[task.key].task = task;
  changed_.notify_all();
}

void EventTail::stored(const TaskKey& key, std::int64_t end) {
  const std::lock_guard lock(mutex_);
  if (const auto found = tasks_.find(key); found != tasks_.end()) found->second.stored = end;
}

void EventTail::finish(const TaskKey& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = tasks_.find(key); found != tasks_.end()) found->second.finished = true;
}

void EventTail::forget(const TaskKey& key) {
  const std::lock_guard lock(mutex_);
  tasks_.erase(key);
}

void EventTail::follow(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::map<TaskKey, Followed> tasks;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [this] { return !tasks_.empty(); });
      changed_.wait_for(lock, stop, look_interval, [] { return false; });
      tasks = tasks_;
    }
    for (const auto& [key, followed] : tasks) advance(followed);
  }
}

void EventTail::advance(const Followed& followed) {
  if (followed.offset - followed.stored >= window_bytes) return;
  const TaskKey& key = followed.task.key;
  const auto read = read_lines(followed.task.events(), followed.offset, read_bytes_max);
  if (!read) {
    log_warning("events_unread", {{"task", to_string(key)}, {"error", read.error().message}});
    return;
  }
  if (read->end > followed.offset) {
    const TailedEvents events{
        .task = followed.task, .events = parse_events(key, read->lines), .end = read->end};
    if (on_events_(events)) update(key, read->end);
  } else if (followed.finished) {
    forget(key);
    on_end_(key);
  }
}

void EventTail::update(const TaskKey& key, std::int64_t offset) {
  const std::lock_guard lock(mutex_);
  if (const auto found = tasks_.find(key); found != tasks_.end()) found->second.offset = offset;
}

}  // namespace trainyard::agent
