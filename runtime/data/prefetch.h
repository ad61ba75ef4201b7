// A thread that reads the next batches while the current one is computed. Which examples they hold
// is a function of the step alone, so that a task that starts again at any step reads the same
// batches.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/core/sampler.h"
#include "runtime/data/dataset.h"

namespace trainyard::runtime {

// Which batches: of each step from the first one to the last those of the leaves [first_leaf,
// first_leaf + leaf_count), of `leaves` that the step has in all.
struct BatchPlan {
  std::int64_t first_leaf = 0;
  std::int64_t leaf_count = 1;
  std::int64_t leaves = 1;
  std::int64_t batch_size = 0;
  std::int64_t first_step = 1;
  std::int64_t last_step = std::numeric_limits<std::int64_t>::max();
};

// The batch of one leaf of a step, read now. `leaf` is one of plan.leaves. An error is read()'s.
[[nodiscard]] Status read_batch(const Dataset& dataset, const Sampler& sampler,
                                const BatchPlan& plan, std::int64_t step, std::int64_t leaf,
                                Batch& batch);

class Prefetcher {
 public:
  // `dataset` must outlive the prefetcher. At most `ahead` batches are ready and waiting, buffers
  // are reused.
  Prefetcher(const Dataset& dataset, const Sampler& sampler, BatchPlan plan, std::size_t ahead = 2);
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Starts the thread. Once.
  void start();

  // The next training batch: leaf by leaf, step by step; waits until it is read. It is valid until
  // the next call. nullptr once stopped, and after the last step; the error of read() where it
  // cannot be read. One caller.
  Result<const Batch*> next();

  // next() goes on with the first batch of `step`, which is not before that of the batch it is at.
  // What lies between is not read, or thrown away. Between two calls of next().
  void skip_to(std::int64_t step);

  // Ends the thread and wakes next(). From any thread, any number of times.
  void stop();

 private:
  void read_ahead();
  [[nodiscard]] std::int64_t step_of(std::int64_t batch) const {
    return plan_.first_step + batch / plan_.leaf_count;
  }
  Batch& slot(std::int64_t batch) { return slots_[static_cast<std::size_t>(batch % slot_count())]; }
  [[nodiscard]] std::int64_t slot_count() const { return std::ssize(slots_); }

  const Dataset& dataset_;
  const Sampler sampler_;
  const BatchPlan plan_;
  std::vector<Batch> slots_;  // batch i lies in slot i % size; the mutex orders who touches which

  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t read_ = 0;   // guarded by mutex_: batches before this one are ready or skipped
  std::int64_t taken_ = 0;  // guarded by mutex_: those before this one were handed out, or skipped
  bool stopped_ = false;    // guarded by mutex_
  Status fault_ = ok();     // guarded by mutex_: why batch read_ is not read, nor any after it
  std::thread thread_;
};

}  // namespace trainyard::runtime
