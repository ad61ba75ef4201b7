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
  Background background;  // model files
  Background lists;       // long answers: reading and rendering them
  // What the scheduler says is rendered here, not on its own thread. Shared with its answers, too.
  std::shared_ptr<Background> answers;
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

// The same for long answers: made on other threads than those that read requests, few at a time,
// and only while clients take what was made for them.
Handler listing(Backend& backend, BackendHandler handler);

// `done`, called on a thread for answers.
template <class T>
std::function<void(Result<T>)> rendered(const Backend& backend,
                                        std::function<void(const Result<T>&)> done) {
  return [answers = backend.answers, done = std::move(done)](Result<T> result) {
    const auto shared = std::make_shared<const Result<T>>(std::move(result));
    if (!answers->post([done, shared] { done(*shared); })) done(*shared);  // the server stops
  };
}

// For routes without query parameters: true when there are none, else the answer is given.
bool has_no_query(const Request& request, const Responder& responder);

// Adds who waits for news of a job, or answers why that cannot be.
void add_watcher(Backend& backend, const Request& request, const Responder& responder,
                 const Watchers::Make& make);

}  // namespace trainyard::api
