// The watchers' thread.
#include "api/routes/watchers.h"

namespace trainyard::api {

Watchers::~Watchers() { stop(); }

void Watchers::start() {
  thread_ = std::thread([this] { run(); });
}

void Watchers::stop() {
  {
    const std::lock_guard lock(pokes_->mutex);
    pokes_->stopping = true;
  }
  pokes_->arrived.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Watchers::is_stopping() const {
  const std::lock_guard lock(pokes_->mutex);
  return pokes_->stopping;
}

bool Watchers::has_room() const {
  const std::lock_guard lock(pokes_->mutex);
  return !pokes_->stopping && pokes_->count < count_max_;
}

bool Watchers::add(const JobId& job, std::unique_ptr<Watcher> watcher) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(pokes_->mutex);
    if (pokes_->stopping || pokes_->count >= count_max_) return false;
    ++pokes_->count;
    number = pokes_->next_number++;
  }
  auto subscription = feed_.subscribe(job, [pokes = pokes_, number] {
    const std::lock_guard lock(pokes->mutex);
    pokes->numbers.insert(number);
    pokes->arrived.notify_one();
  });
  const std::lock_guard lock(pokes_->mutex);
  pokes_->added.emplace(
      number, Entry{.watcher = std::move(watcher), .subscription = std::move(subscription)});
  pokes_->numbers.insert(number);
  pokes_->arrived.notify_one();
  return true;
}

void Watchers::run() {
  std::set<std::uint64_t> due;
  while (wait_for_work(due)) {
    take_due_by_time(due);
    look_at(due);
  }
  for (auto& [number, entry] : entries_) entry.watcher->stop();
  entries_.clear();
}

// False once all are to stop; what was added until then is in entries_.
bool Watchers::wait_for_work(std::set<std::uint64_t>& due) {
  constexpr std::chrono::seconds idle{1};
  std::unique_lock lock(pokes_->mutex);
  const auto wake = timers_.empty() ? Clock::now() + idle : timers_.begin()->first;
  pokes_->arrived.wait_until(lock, wake,
                             [this] { return pokes_->stopping || !pokes_->numbers.empty(); });
  due.clear();
  due.swap(pokes_->numbers);
  entries_.merge(pokes_->added);
  return !pokes_->stopping;
}

void Watchers::take_due_by_time(std::set<std::uint64_t>& due) {
  const auto now = Clock::now();
  for (const auto& [time, number] : timers_) {
    if (time > now) break;
    due.insert(number);
  }
}

void Watchers::look_at(const std::set<std::uint64_t>& due) {
  std::size_t done = 0;
  for (const std::uint64_t number : due) {
    const auto entry = entries_.find(number);
    if (entry == entries_.end()) continue;  // a poke that came after the end
    if (const auto timer = timer_of_.find(number); timer != timer_of_.end()) {
      timers_.erase({timer->second, number});
      timer_of_.erase(timer);
    }
    if (entry->second.watcher->look() == Watcher::Next::done) {
      entries_.erase(entry);
      ++done;
      continue;
    }
    const auto next = entry->second.watcher->look_at();
    timers_.emplace(next, number);
    timer_of_.emplace(number, next);
  }
  if (done == 0) return;
  const std::lock_guard lock(pokes_->mutex);
  pokes_->count -= done;
}

}  // namespace trainyard::api
