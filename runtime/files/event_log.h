// The task's events.jsonl: what it tells of itself, one JSON line each, read by the agent while it
// grows.
#pragma once

#include <string>
#include <variant>

#include "schemas/base/result.h"
#include "schemas/types/run_event.h"

namespace trainyard::runtime {

class EventLog {
 public:
  using What = decltype(RunEvent::what);

  // Appends to `folder`/events.jsonl.
  static Result<EventLog> open(const std::string& folder);
  ~EventLog();
  EventLog(EventLog&& other) noexcept;
  EventLog& operator=(EventLog&&) = delete;

  // Whether there were events when it was opened: an earlier process of the task wrote them.
  [[nodiscard]] bool goes_on() const { return goes_on_; }

  // One write of one whole line, stamped with the time, from any thread.
  Status append(const What& what) const;

 private:
  explicit EventLog(int fd) : fd_(fd) {}

  int fd_ = -1;
  bool goes_on_ = false;
};

}  // namespace trainyard::runtime
