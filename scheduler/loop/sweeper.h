// Removes files nobody needs any more, on a thread of its own: removing gigabytes takes a disk its
// time. Once an hour it looks at what was set aside in lost+found/.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "scheduler/store/sweep.h"
#include "schemas/base/id.h"
#include "schemas/base/time.h"

namespace trainyard::scheduler {

class Sweeper {
 public:
  // `thin`: called on the sweeper's thread for jobs that are looked at; may take its time.
  using Thin = std::function<void(const JobId&)>;
  Sweeper(Sweep sweep, Millis grace, Thin thin)
      : sweep_(std::move(sweep)), grace_(grace), thin_(std::move(thin)) {}
  ~Sweeper();  // stop()

  void start();  // every job that has files is looked at once
  // The job is over, or has given up a checkpoint. Only ever a hint: bounded, never blocks.
  void request(const JobId& job);
  // The job was deleted, by one who may: its files go at once. As bounded.
  void remove(const JobId& job);
  void stop();

 private:
  enum class What { sweep, remove };
  struct Due {
    Time at;
    What what = What::sweep;
  };

  void run();
  void put(const JobId& job, Due due);
  void work_on(const JobId& job, What what);
  Result<Sweep::Left> removed(const JobId& job);
  void empty_lost_and_found();

  Sweep sweep_;  // of the thread
  const Millis grace_;
  const Thin thin_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<JobId, Due> due_;  // guarded by mutex_; bounded
  bool stopping_ = false;     // guarded by mutex_
  Time look_at_lost_;         // of the thread
  std::thread thread_;
};

}  // namespace trainyard::scheduler
