#include "scheduler/loop/health.h"

namespace trainyard::scheduler {

void Health::note_write(const Status& written) {
  const std::lock_guard lock(mutex_);
  write_error_ = written ? "" : written.error().message;
}

bool Health::can_write() const {
  const std::lock_guard lock(mutex_);
  return write_error_.empty();
}

Readiness Health::look(Time now) const {
  Readiness readiness;
  const std::int64_t beat = beat_millis_;
  const Millis silence{now.millis - beat};
  if (ended_) {
    readiness.scheduler = "the scheduler has ended";
  } else if (beat == never) {
    readiness.scheduler = "the scheduler has not begun yet";
  } else if (silence > silence_max_) {
    readiness.scheduler = "the scheduler's thread has been stuck for " +
                          std::to_string(silence.count) + " ms: nothing is placed or answered";
  }
  const std::lock_guard lock(mutex_);
  if (!write_error_.empty()) {
    readiness.database =
        "the newest write failed (" + write_error_ + "): nothing is taken until one succeeds";
  }
  return readiness;
}

}  // namespace trainyard::scheduler
