// The handler of /v1/jobs/{id}/logs.
#include "api/routes/logs.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/routes/log_follow.h"
#include "api/routes/log_tail.h"
#include "api/routes/query_reader.h"

namespace trainyard::api {
namespace {

constexpr std::int64_t tail_max = 100'000;
constexpr std::int64_t tail_default = 200;
constexpr const char* log_content_type = "text/plain; charset=utf-8";

// "worker/0"
void read_task(QueryReader& query, LogRequest& wanted) {
  const auto task = query.text("task");
  if (!task) return;
  const std::size_t slash = std::min(task->find('/'), task->size());
  wanted.role = role_from(std::string_view(*task).substr(0, slash));
  const char* const end = task->data() + task->size();
  const char* const begin = std::min(task->data() + slash + 1, end);
  const auto [stop, error] = std::from_chars(begin, end, wanted.index);
  if (!wanted.role || error != std::errc() || stop != end || wanted.index < 0) {
    query.add_fault("task", "must be role/index, such as worker/0, got \"" + *task + '"');
  }
}

Result<TaskKey> find_task(Backend& backend, const LogRequest& wanted) {
  return backend.readers->read([&](scheduler::Reader& reader) -> Result<TaskKey> {
    TRY_ASSIGN(const Job job, reader.job(wanted.job));
    const std::int64_t attempt = wanted.attempt.value_or(job.attempt);
    const TaskKey key = task_of(wanted, job, attempt);
    TRY_ASSIGN(const auto tasks, reader.tasks(job.id, attempt));
    if (job.attempt == 0) return not_found("job " + job.id.text + " has not run yet");
    if (std::ranges::find(tasks, key, &TaskAttempt::key) == tasks.end()) {
      return not_found("job " + job.id.text + " has no task " + task_name(key) + " in attempt " +
                       std::to_string(attempt));
    }
    return key;
  });
}

void follow_logs(Backend& backend, const Request& request, const Responder& responder,
                 const LogRequest& wanted) {
  const auto job =
      backend.readers->read([&](scheduler::Reader& reader) { return reader.job(wanted.job); });
  if (!job) return responder.error(job.error());
  if (job->attempt > 0) {  // before the first attempt there is nothing to check against yet
    const auto key = find_task(backend, wanted);
    if (!key) return responder.error(key.error());
    const auto log = tail_offset(backend.scheduler.log_path(*key), 0);
    if (!log && log.error().code != Code::not_found) return responder.error(log.error());
  }
  add_watcher(backend, request, responder, [&](const Watchers::Poke& poke) {
    return make_log_follow(backend, wanted, responder, poke);
  });
}

void get_logs(Backend& backend, const Request& request, const Responder& responder) {
  QueryReader query(request);
  LogRequest wanted{.job = job_id_of(request), .role = {}, .attempt = {}};
  read_task(query, wanted);
  wanted.attempt = query.integer("attempt", {.lowest = 1});
  wanted.tail_lines =
      query.integer("tail", {.lowest = -1, .highest = tail_max}).value_or(tail_default);
  const bool follow = query.flag("follow");
  if (const auto problem = query.problem()) return responder.problem(*problem);
  if (follow) return follow_logs(backend, request, responder, wanted);

  const auto key = find_task(backend, wanted);
  if (!key) return responder.error(key.error());
  const std::string path = backend.scheduler.log_path(*key);
  const auto begin = tail_offset(path, wanted.tail_lines);
  if (!begin && begin.error().code == Code::not_found) {  // it has written nothing yet
    return responder.send({.content_type = log_content_type});
  }
  if (!begin) return responder.error(begin.error());
  responder.file({.path = path, .content_type = log_content_type, .first_byte = *begin});
}

}  // namespace

std::vector<Route> log_routes(Backend& backend) {
  return {{Method::get, "/v1/jobs/{id}/logs", listing(backend, get_logs)}};
}

}  // namespace trainyard::api
