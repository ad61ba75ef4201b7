#include "scheduler/loop/sweeper.h"

#include <algorithm>
#include <chrono>

#include "schemas/base/clock.h"
#include "schemas/base/log.h"

namespace trainyard::scheduler {
namespace {

constexpr std::size_t due_max = 65'536;
constexpr Millis lost_interval = seconds(3600);

}  // namespace

Sweeper::~Sweeper() { stop(); }

void Sweeper::start() {
  look_at_lost_ = steady_now();
  for (const JobId& job : sweep_.jobs_with_files()) request(job);
  thread_ = std::thread([this] { run(); });
}

void Sweeper::request(const JobId& job) { put(job, {steady_now(), What::sweep}); }

void Sweeper::remove(const JobId& job) { put(job, {steady_now(), What::remove}); }

void Sweeper::put(const JobId& job, Due due) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = due_.find(job);
    if (known == due_.end() && due_.size() >= due_max) return;
    if (known != due_.end() && known->second.what == What::remove) due.what = What::remove;
    due_[job] = due;
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
        std::ranges::min_element(due_, {}, [](const auto& entry) { return entry.second.at; });
    const Time now = steady_now();
    const bool has_due = next != due_.end();
    const Time at = has_due ? std::min(next->second.at, look_at_lost_) : look_at_lost_;
    if (at > now) {
      wake_.wait_for(lock, std::chrono::milliseconds((at - now).count));
      continue;
    }
    if (!has_due || next->second.at > now) {
      look_at_lost_ = now + lost_interval;
      lock.unlock();
      empty_lost_and_found();
    } else {
      const auto [job, due] = *next;
      due_.erase(next);
      lock.unlock();
      work_on(job, due.what);
    }
    lock.lock();
  }
}

void Sweeper::empty_lost_and_found() {
  const Status emptied = sweep_.empty_lost_and_found(read_clocks().wall);
  if (!emptied) log_warning("lost_and_found_kept", {{"error", emptied.error().message}});
}

void Sweeper::work_on(const JobId& job, What what) {
  const auto left = what == What::sweep ? sweep_.sweep(job) : removed(job);
  if (!left) log_warning("sweep failed", {{"job", job.text}, {"error", left.error().message}});
  if (what == What::sweep) thin_(job);
  if (left && *left == Sweep::Left::nothing) return;
  // Unless asked for meanwhile.
  const std::lock_guard lock(mutex_);
  due_.emplace(job, Due{steady_now() + std::max(grace_, Millis{1000}), what});
}

Result<Sweep::Left> Sweeper::removed(const JobId& job) {
  TRY(sweep_.remove(job));
  return Sweep::Left::nothing;
}

}  // namespace trainyard::scheduler
