#include "agent/loop/event_tail.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "agent/host/tail.h"
#include "schemas/base/clock.h"
#include "schemas/base/log.h"
#include "schemas/files/file.h"
#include "schemas/wire/run_event_json.h"

namespace trainyard::agent {
namespace {

constexpr std::chrono::milliseconds look_interval{20};  // where nobody tells of changes
constexpr std::chrono::milliseconds longest_wait{60'000};
constexpr std::size_t read_bytes_max = 256 * 1024;
constexpr std::int64_t window_bytes = 1024 * 1024;

// Where a file cannot be read: a second for each try, five seconds after the task's end.
constexpr Millis unread_pause{1000};
constexpr int tries_after_end_max = 6;

Result<RunEvent> parse_event(const TailLine& line) {
  if (!line.too_long) return parse_run_event(line.text, line.offset);
  return invalid("its line is longer than the " + std::to_string(read_bytes_max) +
                 " bytes that are taken");
}

std::vector<RunEvent> parse_events(const TaskKey& key, const std::vector<TailLine>& lines) {
  std::vector<RunEvent> events;
  for (const TailLine& line : lines) {
    Result<RunEvent> event = parse_event(line);
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
    const std::vector<int> changed = watch_.wait(again ? look_interval : time_to_next_try());
    note_changed(changed, again);
  }
}

std::vector<EventTail::Followed> EventTail::take_due(bool& again) {
  std::vector<Followed> due;
  const Time now = steady_now();
  const std::lock_guard lock(mutex_);
  for (auto& [key, followed] : tasks_) {
    if (now < followed.next_try) continue;
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

// Until a file that could not be read is tried again.
std::chrono::milliseconds EventTail::time_to_next_try() {
  const Time now = steady_now();
  std::chrono::milliseconds time = longest_wait;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, followed] : tasks_) {
    if (!followed.due) continue;
    const Millis left = followed.next_try - now;
    time = std::min(time, std::chrono::milliseconds(std::max<std::int64_t>(left.count, 0)));
  }
  return time;
}

// False where the same is to be tried again soon.
bool EventTail::advance(const Followed& followed) {
  if (is_full(followed)) return true;  // stored() goes on
  const TaskKey& key = followed.task.key;
  const auto read = read_lines(followed.task.events(), followed.offset, read_bytes_max);
  if (!read) {
    note_unread(followed, read.error());
    return true;
  }
  if (followed.unread) note_readable(key);
  if (read->end > followed.offset) {
    const TailedEvents events{
        .task = followed.task, .events = parse_events(key, read->lines), .end = read->end};
    if (!on_events_(events)) return false;
    update(key, read->end);
  } else if (followed.finished) {
    end(key);
  }
  return true;
}

// One warning when it begins. A task that has ended does not wait for ever for its file.
void EventTail::note_unread(const Followed& followed, const Error& error) {
  const TaskKey& key = followed.task.key;
  if (!followed.unread) {
    log_warning("events_unread", {{"task", to_string(key)}, {"error", error.message}});
  }
  const int tries = followed.finished ? followed.tries_after_end + 1 : 0;
  if (tries >= tries_after_end_max) {
    log_warning("events_lost", {{"task", to_string(key)},
                                {"offset", followed.offset},
                                {"error", error.message},
                                {"message",
                                 "the task has ended, and what it wrote to its events"
                                 " from this offset on cannot be read"}});
    end(key);
    return;
  }
  const std::lock_guard lock(mutex_);
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return;
  found->second.unread = true;
  found->second.next_try = steady_now() + unread_pause;
  found->second.tries_after_end = tries;
  found->second.due = true;
}

void EventTail::note_readable(const TaskKey& key) {
  log_warning("events_read_again", {{"task", to_string(key)}});
  const std::lock_guard lock(mutex_);
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return;
  Followed& followed = found->second;
  followed.unread = false;
  followed.tries_after_end = 0;
  // It may be another file than the one that was watched.
  const int watch = watch_.add(followed.task.events());
  if (watch != followed.watch) watch_.remove(std::exchange(followed.watch, watch));
  look_at(followed);  // what came before the watch
}

void EventTail::end(const TaskKey& key) {
  forget(key);
  on_end_(key);
}

void EventTail::update(const TaskKey& key, std::int64_t offset) {
  const std::lock_guard lock(mutex_);
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return;
  found->second.offset = offset;
  look_at(found->second);  // there may be more, or its end
}

}  // namespace trainyard::agent
