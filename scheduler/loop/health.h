// Whether the scheduler can do its work, for anybody who asks: the heartbeat of its thread, and
// what became of the newest write to the database.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "schemas/base/result.h"
#include "schemas/base/time.h"

namespace trainyard::scheduler {

// Of each part why it is not ready, as a sentence; "" where it is.
struct Readiness {
  std::string scheduler;
  std::string database;
  [[nodiscard]] bool ready() const { return scheduler.empty() && database.empty(); }
};

class Health {
 public:
  explicit Health(Millis silence_max) : silence_max_(silence_max) {}

  // --- by the scheduler's thread ---
  void beat(Time now) { beat_millis_ = now.millis; }
  void end() { ended_ = true; }
  void note_write(const Status& written);  // a save, or a probe

  [[nodiscard]] bool can_write() const;
  [[nodiscard]] Readiness look(Time now) const;  // any thread

 private:
  static constexpr std::int64_t never = -1;

  const Millis silence_max_;
  std::atomic<std::int64_t> beat_millis_ = never;
  std::atomic<bool> ended_ = false;
  mutable std::mutex mutex_;
  std::string write_error_;  // guarded by mutex_; "" = the newest write succeeded
};

}  // namespace trainyard::scheduler
