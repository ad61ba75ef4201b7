// Threads for what takes its time (reading and rendering a list, putting a model file together), so
// that neither the few threads that read requests nor the scheduler's wait for it. Bounded: what
// does not fit is refused.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace trainyard::api {

class Background {
 public:
  struct Size {
    std::size_t threads = 1;
    std::size_t queue = 1;  // works that wait for a thread
  };
  explicit Background(Size size) : size_(size) {}
  ~Background() { stop(); }

  void start();
  void stop();  // what is queued is still done

  // False when too much waits already, or after stop().
  [[nodiscard]] bool post(std::function<void()> work);

 private:
  void run();

  const Size size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;  // guarded by mutex_
  bool stopping_ = false;                    // guarded by mutex_
  std::vector<std::thread> threads_;
};

}  // namespace trainyard::api
