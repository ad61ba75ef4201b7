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

Handler listing(Backend& backend, BackendHandler handler) {
  return [&backend, handler](const Request& request, const Responder& responder) {
    if (!responder.has_room()) return;
    const bool posted = backend.lists.post([&backend, handler, request, responder] {
      if (responder.has_room()) handler(backend, request, responder);
    });
    if (!posted) responder.error(unavailable("too many long answers are being made"));
  };
}

void add_watcher(Backend& backend, const Request& request, const Responder& responder,
                 const Watchers::Make& make) {
  if (!responder.has_room()) return;
  switch (backend.watchers.add(job_id_of(request), request.client, make)) {
    case Watchers::Added::yes: return;
    case Watchers::Added::stopping:
      return responder.problem({.status = 503,
                                .code = "unavailable",
                                .detail = "the server is stopping",
                                .retry_after_seconds = 5});
    case Watchers::Added::too_many:
      return responder.problem({.status = 429,
                                .code = "too_many_requests",
                                .detail = "too many clients wait for news of jobs",
                                .retry_after_seconds = 5});
    case Watchers::Added::too_many_of_client:
      return responder.problem({.status = 429,
                                .code = "too_many_requests",
                                .detail = "too many requests of this address wait for news of jobs",
                                .retry_after_seconds = 5});
  }
}

}  // namespace trainyard::api
