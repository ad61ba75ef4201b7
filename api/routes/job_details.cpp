// Handlers of /v1/jobs/{id}/tasks, /cluster, /explain and /metrics.
#include "api/routes/job_details.h"

#include <algorithm>
#include <utility>

#include "api/http/accept.h"
#include "api/routes/paging.h"
#include "api/routes/render.h"
#include "schemas/wire/job_json.h"
#include "schemas/wire/json_text.h"

namespace trainyard::api {
namespace {

constexpr std::int64_t points_min = 6;        // the ends, and the extremes of two parts between
constexpr std::int64_t points_max = 100'000;  // of all series that are named
constexpr std::int64_t points_of_each_max = 5'000;  // where none is: there may be dozens
constexpr std::int64_t points_default = 1000;

// "<attempt>.<role>.<index>" of the last task of a page.
std::string task_token(const TaskAttempt& task) {
  return std::to_string(task.key.attempt) + '.' + std::string(name_of(task.key.role)) + '.' +
         std::to_string(task.key.index);
}

std::optional<TaskKey> parse_task_token(std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t second = token.rfind('.');
  if (first == token.npos || first == second) return std::nullopt;
  const auto attempt = parse_number(token.substr(0, first));
  const auto role = role_from(token.substr(first + 1, second - first - 1));
  const auto index = parse_number(token.substr(second + 1));
  if (!attempt || !role || !index) return std::nullopt;
  return TaskKey{{}, *attempt, *role, *index};
}

void list_tasks(Backend& backend, const Request& request, const Responder& responder) {
  QueryReader query(request);
  const auto attempt = query.integer("attempt", {.lowest = 1});
  const std::int64_t limit = read_limit(query);
  const auto after = read_page_token(query, parse_task_token);
  if (const auto problem = query.problem()) return responder.problem(*problem);
  const auto tasks =
      backend.readers->read([&](scheduler::Reader& reader) -> Result<std::vector<TaskAttempt>> {
        TRY(reader.job(job_id_of(request)));
        return reader.tasks(job_id_of(request), attempt, after, limit + 1);
      });
  if (!tasks) return responder.error(tasks.error());
  const auto show = [](const TaskAttempt& task) { return task_to_json(task); };
  responder.json(200, page_of(*tasks, limit, show, task_token));
}

void get_cluster(Backend& backend, const Request& request, const Responder& responder) {
  if (!has_no_query(request, responder)) return;
  const auto found = read_job(*backend.readers, job_id_of(request));
  if (!found) return responder.error(found.error());
  responder.json(200, to_text(cluster_to_json(found->tasks)));
}

// The scheduler explains what it still works on; of jobs that have ended the store knows all there
// is to say.
void explain_job(Backend& backend, const Request& request, const Responder& responder) {
  if (!has_no_query(request, responder)) return;
  const auto found = read_job(*backend.readers, job_id_of(request));
  if (!found) return responder.error(found.error());
  const auto partition = backend.readers->read(
      [&](scheduler::Reader& reader) { return reader.partition(job_id_of(request)); });
  if (!partition) return responder.error(partition.error());
  const Job& job = found->job;
  scheduler::Explanation ended;
  ended.job = job.id;
  ended.state = job.state;
  ended.reason = job.reason;
  ended.message = job.message;
  using Explained = std::optional<scheduler::Explanation>;
  const auto answer = [responder, ended = std::move(ended),
                       partition = *partition](const Result<Explained>& explained) {
    if (!explained) return responder.error(explained.error());
    responder.json(200, to_text(explanation_to_json(explained->value_or(ended), partition)));
  };
  backend.scheduler.explain(job.id, rendered<Explained>(backend, answer));
}

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (end > 0) names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

void get_job_metrics(Backend& backend, const Request& request, const Responder& responder) {
  QueryReader query(request);
  scheduler::MetricQuery wanted{
      .names = split_names(query.text("names").value_or("")),
      .from_step = query.integer("from_step", {}),
      .to_step = query.integer("to_step", {}),
      .max_points = query.integer("max_points", {.lowest = points_min, .highest = points_max})
                        .value_or(points_default)};
  const std::int64_t share =
      wanted.names.empty() ? points_of_each_max : points_max / std::ssize(wanted.names);
  wanted.max_points = std::min(wanted.max_points, std::max(share, points_min));
  if (const auto problem = query.problem()) return responder.problem(*problem);
  const auto series = backend.readers->read(
      [&](scheduler::Reader& reader) -> Result<std::vector<scheduler::MetricSeries>> {
        TRY(reader.job(job_id_of(request)));
        return reader.metrics(job_id_of(request), wanted);
      });
  if (!series) return responder.error(series.error());
  if (prefers_to_json(request.header("accept"), "text/csv")) {
    return responder.send(
        {.content_type = "text/csv; charset=utf-8", .body = series_to_csv(*series)});
  }
  responder.json(200, series_to_text(*series));
}

}  // namespace

std::vector<Route> job_detail_routes(Backend& backend) {
  return {
      {Method::get, "/v1/jobs/{id}/tasks", listing(backend, list_tasks)},
      {Method::get, "/v1/jobs/{id}/cluster", with(backend, get_cluster)},
      {Method::get, "/v1/jobs/{id}/explain", with(backend, explain_job)},
      {Method::get, "/v1/jobs/{id}/metrics", listing(backend, get_job_metrics)},
  };
}

}  // namespace trainyard::api
