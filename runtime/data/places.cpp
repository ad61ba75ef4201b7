#include "runtime/data/places.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace trainyard::runtime {

// Places are taken in order, so all below one that failed are done, or being done, by then.
Status for_each_place(std::int64_t count, std::int64_t threads,
                      const std::function<Status(std::int64_t place)>& work) {
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;
  std::int64_t failed = count;  // guarded by mutex: the lowest place that failed
  Status status = ok();         // guarded by mutex: why
  const auto take_places = [&] {
    for (std::int64_t place = next++; place < count; place = next++) {
      Status done = work(place);
      if (done.has_value()) continue;
      next = count;
      const std::lock_guard lock(mutex);
      if (place >= failed) continue;
      failed = place;
      status = std::move(done);
    }
  };
  std::vector<std::jthread> others;
  for (std::int64_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(take_places);
  take_places();
  others.clear();  // waits for them
  return status;
}

}  // namespace trainyard::runtime
