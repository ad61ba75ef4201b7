#include "runtime/net/chunks/serving_end.h"

namespace trainyard::runtime {

ServingEnd::ServingEnd(const Attendance::Limits& limits, std::int64_t ranks,
                       const ConnectedWorkers& workers)
    : workers_(workers), attendance_(limits, ranks, steady_now()) {}

void ServingEnd::said_goodbye(std::int64_t rank) {
  attendance_.said_goodbye(rank);
  look();
}

void ServingEnd::look() {
  const auto end = attendance_.end(steady_now());
  if (!end) return;
  {
    const std::lock_guard lock(mutex_);
    if (end_) return;
    end_ = *end;
    changed_.notify_all();
  }
  if (!end->is_good) workers_.refuse_all(end->why);
}

void ServingEnd::wait(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [this] { return end_.has_value(); });
}

std::optional<Attendance::End> ServingEnd::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

}  // namespace trainyard::runtime
