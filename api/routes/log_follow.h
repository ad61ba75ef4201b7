// A log that is followed: what is there, then what is added, until the task has ended.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "api/routes/backend.h"

namespace trainyard::api {

struct LogRequest {
  JobId job;
  std::optional<Role> role;  // with index; none = the chief
  std::int64_t index = 0;
  std::optional<std::int64_t> attempt;  // none = the newest, and those that come after it
  std::int64_t tail_lines = 0;
};

// The task of `attempt` that is asked for.
TaskKey task_of(const LogRequest& request, const Job& job, std::int64_t attempt);

std::unique_ptr<Watcher> make_log_follow(Backend& backend, const LogRequest& request,
                                         const Responder& responder, const Watchers::Poke& poke);

}  // namespace trainyard::api
