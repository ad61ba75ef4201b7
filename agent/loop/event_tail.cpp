#include "agent/loop/event_tail.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/host/tail.h"
#include "schemas/base/log.h"
#include "schemas/files/file.h"
#include "schemas/wire/run_event_json.h"

namespace trainyard::agent {
namespace {

constexpr std::chrono::milliseconds look_interval{20};  // where nobody tells of changes
constexpr std::chrono::milliseconds longest_wait{60'000};
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
  watch_.wake();
  if (thread_.joinable()) thread_.join();
}

void EventTail::add(const TaskFiles& task) {
  // The task appends to it, and takes an empty one for none.
  const auto made = File::open(task.events(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const std::lock_guard lock(mutex_);
  Followed& followed = tasks_[task.key];
  followed.task = task;
  if (followed.watch < 0 && made) followed.watch = watch_.add(task.events());
  look_at(followed);
}

void EventTail::stored(const TaskKey& key, std::int64_t end) {
  const std::lock_guard lock(mutex_);
  const auto found = tasks_.find(key);
  if (found == tasks_.end() || found->second.stored == end) return;
  const bool was_full = is_full(found->second);
  found->second.stored = end;
  if (was_full) look_at(found->second);
}

void EventTail::finish(const TaskKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return;
  found->second.finished = true;
  look_at(found->second);
}

void EventTail::forget(const TaskKey& key) {
  const std::lock_guard lock(mutex_);
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return;
  watch_.remove(found->second.watch);
  tasks_.erase(found);
}

void EventTail::look_at(Followed& followed) {
  followed.due = true;
  watch_.wake();
}

bool EventTail::is_full(const Followed& followed) {
  return followed.offset - followed.stored >= window_bytes;
}

void EventTail::follow(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    bool again = false;  // some are to be looked at soon, though nobody will tell
    for (const Followed& followed : take_due(again)) {
      if (!advance(followed)) again = true;
    }
    const std::vector<int> changed = watch_.wait(again ? look_interval : longest_wait);
    note_changed(changed, again);
  }
}

std::vector<EventTail::Followed> EventTail::take_due(bool& again) {
  std::vector<Followed> due;
  const std::lock_guard lock(mutex_);
  for (auto& [key, followed] : tasks_) {
    if (followed.watch < 0) again = true;
    if (std::exchange(followed.due, followed.watch < 0)) due.push_back(followed);
  }
  return due;
}

void EventTail::note_changed(const std::vector<int>& changed, bool all) {
  const std::lock_guard lock(mutex_);
  for (auto& [key, followed] : tasks_) {
    const auto is_it = [&](int watch) { return watch == followed.watch || watch < 0; };
    if (all || std::ranges::any_of(changed, is_it)) followed.due = true;
  }
}

// False where the same is to be tried again later.
bool EventTail::advance(const Followed& followed) {
  if (is_full(followed)) return true;  // stored() goes on
  const TaskKey& key = followed.task.key;
  const auto read = read_lines(followed.task.events(), followed.offset, read_bytes_max);
  if (!read) {
    log_warning("events_unread", {{"task", to_string(key)}, {"error", read.error().message}});
    return false;
  }
  if (read->end > followed.offset) {
    const TailedEvents events{
        .task = followed.task, .events = parse_events(key, read->lines), .end = read->end};
    if (!on_events_(events)) return false;
    update(key, read->end);
  } else if (followed.finished) {
    forget(key);
    on_end_(key);
  }
  return true;
}

void EventTail::update(const TaskKey& key, std::int64_t offset) {
  const std::lock_guard lock(mutex_);
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return;
  found->second.offset = offset;
  look_at(found->second);  // there may be more, or its end
}

}  // namespace trainyard::agent
