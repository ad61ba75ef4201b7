#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

ThreadTeam::ThreadTeam(int threads) {
  for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

ThreadTeam::~ThreadTeam() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  woken_.notify_all();
}

void ThreadTeam::run(std::size_t parts, const Part& part) {
  {
    const std::lock_guard lock(mutex_);
    part_ = &part;
    parts_ = parts;
    next_ = 0;
    ++loop_;
  }
  woken_.notify_all();
  take_parts();
  std::unique_lock lock(mutex_);
  part_ = nullptr;  // who wakes up now has come too late
  done_.wait(lock, [this] { return busy_ == 0; });
}

void ThreadTeam::take_parts() {
  for (std::size_t i = next_++; i < parts_; i = next_++) (*part_)(i);
}

void ThreadTeam::serve() {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    woken_.wait(lock, [&] { return ending_ || (part_ != nullptr && loop_ != seen); });
    if (ending_) return;
    seen = loop_;
    ++busy_;
    lock.unlock();
    take_parts();
    lock.lock();
    if (--busy_ == 0) done_.notify_all();
  }
}

}  // namespace trainyard::runtime
