// Removes files nobody needs any more, on a thread of its own: removing gigabytes takes a disk its
// time.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "scheduler/store/sweep.h"
#include "schemas/base/id.h"
#include "schemas/base/time.h"

namespace trainyard::scheduler {

class Sweeper {
 public:
  Sweeper(Sweep sweep, Millis grace) : sweep_(std::move(sweep)), grace_(grace) {}
  ~Sweeper();  // stop()

  void start();  // every job that has files is looked at once
  // The job was removed, is over, or has given up a checkpoint. Only ever a hint: bounded, never
  // blocks.
  void request(const JobId& job);
  void stop();

 private:
  void run();
  void sweep(const JobId& job);

  Sweep sweep_;  // of the thread
  const Millis grace_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<JobId, Time> due_;  // guarded by mutex_; bounded
  bool stopping_ = false;      // guarded by mutex_
  std::thread thread_;
};

}  // namespace trainyard::scheduler
