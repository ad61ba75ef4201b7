// Handlers of /healthz, /readyz, /version, /metrics, /openapi.json and /v1/schemas/job.
#include "api/routes/health.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "api/routes/documents.h"
#include "api/routes/server_metrics.h"
#include "schemas/base/version.h"

namespace trainyard::api {
namespace {

Handler document(std::string_view text) {
  return [text](const Request& request, const Responder& responder) {
    if (has_no_query(request, responder)) responder.json(200, std::string(text));
  };
}

void get_readiness(Backend& backend, const Request&, const Responder& responder) {
  const scheduler::Readiness readiness = backend.scheduler.readiness();
  if (readiness.ready()) {
    return responder.json(200,
                          R"({"status":"ready","parts":{"scheduler":"ready","database":"ready"}})");
  }
  Problem problem{.status = 503,
                  .code = "not_ready",
                  .detail = readiness.scheduler.empty() ? readiness.database : readiness.scheduler,
                  .errors = {},
                  .retry_after_seconds = 1};
  const auto add = [&problem](const char* part, const std::string& why) {
    if (!why.empty()) problem.errors.push_back({part, why});
  };
  add("/scheduler", readiness.scheduler);
  add("/database", readiness.database);
  responder.problem(problem);
}

Result<std::vector<Job>> running_jobs(scheduler::Reader& reader) {
  constexpr std::int64_t page_jobs = 1000;
  std::vector<Job> running;
  std::optional<std::uint64_t> before;
  do {
    TRY_ASSIGN(scheduler::JobPage page,
               reader.jobs({.state = JobState::running}, {page_jobs}, before));
    std::ranges::move(page.jobs, std::back_inserter(running));
    before = page.next_before;
  } while (before);
  return running;
}

void get_metrics(Backend& backend, const Request&, const Responder& responder) {
  const auto jobs =
      backend.readers->read([](scheduler::Reader& reader) { return reader.count_jobs_by_state(); });
  if (!jobs) return responder.error(jobs.error());
  const auto running = backend.readers->read(running_jobs);
  if (!running) return responder.error(running.error());
  responder.send({.content_type = "text/plain; version=0.0.4; charset=utf-8",
                  .body = server_metrics_text(backend.scheduler.counters(), *jobs, *running)});
}

std::string version_json() {
  return "{\"name\":\"trainyard\",\"version\":\"" + std::string(version()) + "\"}";
}

}  // namespace

std::vector<Route> health_routes(Backend& backend) {
  return {
      {Method::get, "/healthz", document("{\"status\":\"ok\"}")},
      {Method::get, "/readyz", with(backend, get_readiness)},
      {Method::get, "/version",
       [](const Request&, const Responder& responder) { responder.json(200, version_json()); }},
      {Method::get, "/metrics", listing(backend, get_metrics)},
      {Method::get, "/openapi.json", document(openapi_document())},
      {Method::get, "/v1/schemas/job", document(job_schema_document())},
  };
}

}  // namespace trainyard::api
