// All who wait for news of a job, on one thread: long polls, event streams, followed logs. A poke
// from the feed or the passing of time makes the thread look at a watcher again; no waiter costs a
// thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
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
  struct Limits {
    std::size_t in_all = 0;
    std::size_t of_client = 0;  // of one address
  };
  Watchers(scheduler::Feed& feed, Limits limits) : feed_(feed), limits_(limits) {}
  ~Watchers();  // stop()

  void start();
  void stop();  // every watcher is told; nobody is added after this

  // Has the watcher looked at, from any thread and at any time; to be called when its client left.
  using Poke = std::function<void()>;
  using Make = std::function<std::unique_ptr<Watcher>(Poke poke)>;
  enum class Added { yes, stopping, too_many, too_many_of_client };
  // `make` is called only where there is a place, which is given back when the watcher is done.
  [[nodiscard]] Added add(const JobId& job, const std::string& client, const Make& make);

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::unique_ptr<Watcher> watcher;
    std::unique_ptr<scheduler::Feed::Subscription> subscription;
    std::string client;
  };
  // Pokes outlive the watchers they are for: the feed's callbacks own this, and nothing else.
  struct Pokes {
    std::mutex mutex;
    std::condition_variable arrived;
    std::set<std::uint64_t> numbers;               // guarded by mutex; at most one per watcher
    std::map<std::uint64_t, Entry> added;          // guarded by mutex; not seen by the thread yet
    std::size_t count = 0;                         // guarded by mutex; added ones included
    std::map<std::string, std::size_t> of_client;  // guarded by mutex; no zeros
    std::uint64_t next_number = 1;                 // guarded by mutex
    bool stopping = false;                         // guarded by mutex
  };
  Added take_place(const std::string& client, std::uint64_t& number);
  void give_back(const std::string& client);  // with the mutex of the pokes
  void run();
  bool wait_for_work(std::set<std::uint64_t>& due);
  void take_due_by_time(std::set<std::uint64_t>& due);
  void look_at(const std::set<std::uint64_t>& due);

  scheduler::Feed& feed_;
  const Limits limits_;
  const std::shared_ptr<Pokes> pokes_ =
      std::make_shared<Pokes>();  // shared with the feed's callbacks
  // the thread's alone
  std::map<std::uint64_t, Entry> entries_;
  std::set<std::pair<Clock::time_point, std::uint64_t>> timers_;
  std::map<std::uint64_t, Clock::time_point> timer_of_;
  std::thread thread_;
};

}  // namespace trainyard::api
