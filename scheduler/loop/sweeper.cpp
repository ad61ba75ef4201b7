#include "scheduler/loop/sweeper.h"

#include <algorithm>
#include <chrono>

#include "schemas/base/clock.h"
#include "schemas/base/log.h"

namespace trainyard::scheduler {
namespace {

constexpr std::size_t due_max = 65'536;

}  // namespace

Sweeper::~Sweeper() { stop(); }

void Sweeper::start() {
  for (const JobId& job : sweep_.jobs_with_files()) request(job);
  thread_ = std::thread([this] { run(); });
}

void Sweeper::request(const JobId& job) {
  {
    const std::lock_guard lock(mutex_);
    if (due_.size() >= due_max) return;
    due_[job] = read_clocks().steady;
  }
  wake_.notify_one();
}

void Sweeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Sweeper::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto next =
        std::ranges::min_element(due_, {}, [](const auto& entry) { return entry.second; });
    if (next == due_.end()) {
      wake_.wait(lock);
      continue;
    }
    const Millis wait = next->second - read_clocks().steady;
    if (wait.count > 0) {
      wake_.wait_for(lock, std::chrono::milliseconds(wait.count));
      continue;
    }
    const JobId job = next->first;
    due_.erase(next);
    lock.unlock();
    sweep(job);
    lock.lock();
  }
}

void Sweeper::sweep(const JobId& job) {
  const auto left = sweep_.sweep(job);
  if (!left) log_warning("sweep failed", {{"job", job.text}, {"error", left.error().message}});
  if (left && *left == Sweep::Left::nothing) return;
  const std::lock_guard lock(mutex_);
  due_.emplace(
      job, read_clocks().steady + std::max(grace_, Millis{1000}));  // unless asked for meanwhile
}

}  // namespace trainyard::scheduler
