// When a ps is done: Attendance by the clock, and whoever waits for the end. All but wait() and
// end() are for the thread that serves.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>

#include "runtime/net/chunks/connected_workers.h"
#include "runtime/ps/attendance.h"
#include "schemas/base/clock.h"

namespace trainyard::runtime {

class ServingEnd {
 public:
  // `workers` outlives this.
  ServingEnd(const Attendance::Limits& limits, std::int64_t ranks, const ConnectedWorkers& workers);

  // As Attendance has them.
  void joined(std::int64_t rank) { attendance_.joined(rank); }
  void left(std::int64_t rank) { attendance_.left(rank, steady_now()); }
  void said_goodbye(std::int64_t rank);
  void finished() { attendance_.finished(steady_now()); }
  // Workers that are there are told why it ends, where that is no good end.
  void look();

  // Until the end, or `stop`.
  void wait(const std::stop_token& stop);
  [[nodiscard]] std::optional<Attendance::End> end() const;

 private:
  const ConnectedWorkers& workers_;
  Attendance attendance_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<Attendance::End> end_;  // guarded by mutex_
};

}  // namespace trainyard::runtime
