#include "scheduler/loop/feed.h"

#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace trainyard::scheduler {

struct Feed::State {
  using Poke = std::shared_ptr<const std::function<void()>>;  // shared: it may be running when its
                                                              // subscription ends
  std::mutex mutex;
  std::uint64_t last_number = 0;                                      // guarded by mutex
  std::unordered_map<JobId, std::map<std::uint64_t, Poke>> watchers;  // guarded by mutex
  std::unordered_map<std::uint64_t, JobId> jobs;                      // guarded by mutex
};

Feed::Feed() : state_(std::make_shared<State>()) {}
Feed::~Feed() = default;

std::unique_ptr<Feed::Subscription> Feed::subscribe(JobId job, std::function<void()> poke) {
  auto shared = std::make_shared<const std::function<void()>>(std::move(poke));
  const std::lock_guard lock(state_->mutex);
  const std::uint64_t number = ++state_->last_number;
  state_->watchers[job].emplace(number, std::move(shared));
  state_->jobs.emplace(number, std::move(job));
  return std::unique_ptr<Subscription>(new Subscription(state_, number));
}

void Feed::announce(const JobId& job) {
  std::vector<State::Poke> pokes;
  {
    const std::lock_guard lock(state_->mutex);
    const auto found = state_->watchers.find(job);
    if (found == state_->watchers.end()) return;
    for (const auto& [number, poke] : found->second) pokes.push_back(poke);
  }
  for (const State::Poke& poke : pokes) (*poke)();
}

Feed::Subscription::Subscription(std::shared_ptr<State> state, std::uint64_t number)
    : state_(std::move(state)), number_(number) {}

Feed::Subscription::~Subscription() {
  State::Poke poke;  // destroyed without the lock: it may own anything
  const std::lock_guard lock(state_->mutex);
  const auto job = state_->jobs.find(number_);
  const auto watchers = state_->watchers.find(job->second);
  poke = std::move(watchers->second.at(number_));
  watchers->second.erase(number_);
  if (watchers->second.empty()) state_->watchers.erase(watchers);
  state_->jobs.erase(job);
}

}  // namespace trainyard::scheduler
