// What several routes need.
#include "api/routes/backend.h"

#include "api/routes/query_reader.h"

namespace trainyard::api {

Result<JobAndTasks> read_job(ReaderPool& readers, const JobId& id) {
  return readers.read([&](scheduler::Reader& reader) -> Result<JobAndTasks> {
    TRY_ASSIGN(Job job, reader.job(id));
    if (job.attempt == 0) return JobAndTasks{.job = std::move(job), .tasks = {}};
    TRY_ASSIGN(auto tasks, reader.tasks(id, job.attempt));
    return JobAndTasks{.job = std::move(job), .tasks = std::move(tasks)};
  });
}

bool has_no_query(const Request& request, const Responder& responder) {
  const auto problem = QueryReader(request).problem();
  if (problem) responder.problem(*problem);
  return !problem;
}

Problem refused_watcher(const Backend& backend) {
  if (backend.watchers.is_stopping()) {
    return {.status = 503,
            .code = "unavailable",
            .detail = "the server is stopping",
            .retry_after_seconds = 5};
  }
  return {.status = 429,
          .code = "too_many_requests",
          .detail = "too many clients wait for news of jobs",
          .retry_after_seconds = 5};
}

}  // namespace trainyard::api
