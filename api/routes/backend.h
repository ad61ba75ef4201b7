// What the routes work with. Their handlers hold a reference: it lives longer than the HTTP server.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "api/http/router.h"
#include "api/routes/background.h"
#include "api/routes/reader_pool.h"
#include "api/routes/watchers.h"
#include "scheduler/loop/scheduler.h"
#include "schemas/types/job.h"

namespace trainyard::api {

struct Backend {
  scheduler::Scheduler& scheduler;
  // Shared with answers that come from the scheduler's thread after the server has begun to stop.
  std::shared_ptr<ReaderPool> readers;
  Watchers watchers;
  Background background;
};

// The job of "{id}" with the tasks of its current attempt, as REST shows it.
struct JobAndTasks {
  Job job;
  std::vector<TaskAttempt> tasks;
};
Result<JobAndTasks> read_job(ReaderPool& readers, const JobId& id);

inline JobId job_id_of(const Request& request) { return JobId(request.parameters.at("id")); }

// A handler that is given the backend as well.
using BackendHandler = void (*)(Backend&, const Request&, const Responder&);
inline Handler with(Backend& backend, BackendHandler handler) {
  return [&backend, handler](const Request& request, const Responder& responder) {
    handler(backend, request, responder);
  };
}

// For routes without query parameters: true when there are none, else the answer is given.
bool has_no_query(const Request& request, const Responder& responder);

// Why a watcher was not added: too many are, or the server stops.
Problem refused_watcher(const Backend& backend);

}  // namespace trainyard::api
