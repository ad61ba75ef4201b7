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

Watchers::Added Watchers::take_place(const std::string& client, std::uint64_t& number) {
  const std::lock_guard lock(pokes_->mutex);
  if (pokes_->stopping) return Added::stopping;
  if (pokes_->count >= limits_.in_all) return Added::too_many;
  std::size_t& of_client = pokes_->of_client[client];
  if (of_client >= limits_.of_client) return Added::too_many_of_client;
  ++of_client;
  ++pokes_->count;
  number = pokes_->next_number++;
  return Added::yes;
}

void Watchers::give_back(const std::string& client) {
  --pokes_->count;
  const auto found = pokes_->of_client.find(client);
  if (--found->second == 0) pokes_->of_client.erase(found);
}

Watchers::Added Watchers::add(const JobId& job, const std::string& client, const Make& make) {
  std::uint64_t number = 0;
  if (const Added place = take_place(client, number); place != Added::yes) return place;
  const Poke poke = [pokes = pokes_, number] {
    const std::lock_guard lock(pokes->mutex);
    pokes->numbers.insert(number);
    pokes->arrived.notify_one();
  };
  Entry entry{.watcher = make(poke), .subscription = nullptr, .client = client};
  entry.subscription = feed_.subscribe(job, poke);
  {
    const std::lock_guard lock(pokes_->mutex);
    if (!pokes_->stopping) {
      pokes_->added.emplace(number, std::move(entry));
      pokes_->numbers.insert(number);
      pokes_->arrived.notify_one();
      return Added::yes;
    }
    give_back(client);
  }
  entry.watcher->stop();  // the thread may be past the point where it would
  return Added::yes;
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
  std::vector<std::string> done;  // their clients
  for (const std::uint64_t number : due) {
    const auto entry = entries_.find(number);
    if (entry == entries_.end()) continue;  // a poke that came after the end
    if (const auto timer = timer_of_.find(number); timer != timer_of_.end()) {
      timers_.erase({timer->second, number});
      timer_of_.erase(timer);
    }
    if (entry->second.watcher->look() == Watcher::Next::done) {
      done.push_back(std::move(entry->second.client));
      entries_.erase(entry);
      continue;
    }
    const auto next = entry->second.watcher->look_at();
    timers_.emplace(next, number);
    timer_of_.emplace(number, next);
  }
  if (done.empty()) return;
  const std::lock_guard lock(pokes_->mutex);
  for (const std::string& client : done) give_back(client);
}

}  // namespace trainyard::api
