// A long poll: GET /v1/jobs/{id}?wait_version=N answers when the job's version is above N, or when
// time is up.
#pragma once

#include "api/routes/backend.h"

namespace trainyard::api {

struct JobWait {
  JobId job;
  std::int64_t above_version = 0;
  std::chrono::seconds timeout{30};
};
std::unique_ptr<Watcher> make_job_wait(Backend& backend, const JobWait& wait,
                                       const Responder& responder, const Watchers::Poke& poke);

}  // namespace trainyard::api
