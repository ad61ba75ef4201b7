// What a role is given to run with, and how it can end.
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "runtime/files/event_log.h"
#include "runtime/role/failure_cause.h"
#include "schemas/base/result.h"
#include "schemas/types/task_context.h"

namespace trainyard::runtime {

struct Task {
  const TaskContext& context;
  const EventLog& events;
  FailureCause& cause;
  std::stop_token stop;  // requested by SIGTERM

  // Returns once it is requested.
  void wait_for_stop() const {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait(lock, stop, [] { return false; });
  }
  [[nodiscard]] Status phase(PhaseEvent::Phase phase, std::string detail = "") const {
    return events.append(PhaseEvent{.phase = phase, .detail = std::move(detail)});
  }
};

enum class TaskEnd { completed, stopped };

// Serves the parameters of one ps until the chief is done.
Result<TaskEnd> run_ps(const Task& task);
// Computes gradients until the job's last step; the chief also reports, evaluates and saves.
Result<TaskEnd> run_worker(const Task& task);

}  // namespace trainyard::runtime
