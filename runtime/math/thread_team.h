// A fork-join team: a loop whose parts are done by the caller and by threads that sleep meanwhile.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace trainyard::runtime {

class ThreadTeam {
 public:
  // `threads` counts the caller: with 1 it is alone.
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  using Part = std::function<void(std::size_t)>;
  // Calls part(i) once for each i in [0, parts), on any thread of the team, and returns when all
  // are done. Parts are taken one by one: a thread that gets no processor holds up one at most. One
  // thread calls it at a time.
  void run(std::size_t parts, const Part& part);

 private:
  void serve();
  void take_parts();

  std::mutex mutex_;
  std::condition_variable woken_;
  std::condition_variable done_;
  const Part* part_ = nullptr;  // guarded by mutex_ but for who is `busy_`; null: nothing to do
  std::size_t parts_ = 0;       // as part_
  std::uint64_t loop_ = 0;      // guarded by mutex_: number of the loop
  int busy_ = 0;                // guarded by mutex_: threads in the loop, without the caller
  bool ending_ = false;         // guarded by mutex_
  std::atomic<std::size_t> next_ = 0;
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace trainyard::runtime
