// All who wait for news of a job, on one thread: long polls, event streams, followed logs. A poke
// from the feed or the passing of time makes the thread look at a watcher again; no waiter costs a
// thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "api/routes/reader_pool.h"
#include "scheduler/loop/feed.h"

namespace trainyard::api {

class Watcher {
 public:
  virtual ~Watcher() = default;
  enum class Next { keep, done };
  // Looks at what is new and tells its client. Called once at the start, after each poke and at
  // each look_at().
  virtual Next look() = 0;
  // When to look again without a poke.
  [[nodiscard]] virtual std::chrono::steady_clock::time_point look_at() const = 0;
  // The server stops: say a last word.
  virtual void stop() = 0;
};

class Watchers {
 public:
  Watchers(scheduler::Feed& feed, std::size_t count_max) : feed_(feed), count_max_(count_max) {}
  ~Watchers();  // stop()

  void start();
  void stop();  // every watcher is told; nobody is added after this

  [[nodiscard]] bool has_room() const;
  [[nodiscard]] bool is_stopping() const;
  // False, and nothing is kept, when there are too many or after stop().
  [[nodiscard]] bool add(const JobId& job, std::unique_ptr<Watcher> watcher);

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::unique_ptr<Watcher> watcher;
    std::unique_ptr<scheduler::Feed::Subscription> subscription;
  };
  // Pokes outlive the watchers they are for: the feed's callbacks own this, and nothing else.
  struct Pokes {
    std::mutex mutex;
    std::condition_variable arrived;
    std::set<std::uint64_t> numbers;       // guarded by mutex; at most one per watcher
    std::map<std::uint64_t, Entry> added;  // guarded by mutex; not seen by the thread yet
    std::size_t count = 0;                 // guarded by mutex; added ones included
    std::uint64_t next_number = 1;         // guarded by mutex
    bool stopping = false;                 // guarded by mutex
  };
  void run();
  bool wait_for_work(std::set<std::uint64_t>& due);
  void take_due_by_time(std::set<std::uint64_t>& due);
  void look_at(const std::set<std::uint64_t>& due);

  scheduler::Feed& feed_;
  const std::size_t count_max_;
  const std::shared_ptr<Pokes> pokes_ =
      std::make_shared<Pokes>();  // shared with the feed's callbacks
  // the thread's alone
  std::map<std::uint64_t, Entry> entries_;
  std::set<std::pair<Clock::time_point, std::uint64_t>> timers_;
  std::map<std::uint64_t, Clock::time_point> timer_of_;
  std::thread thread_;
};

}  // namespace trainyard::api
