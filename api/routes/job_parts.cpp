// Handlers of /v1/jobs/{id}/tasks, /cluster, /explain and /metrics.
#include "api/routes/job_parts.h"

#include <utility>

#include "api/routes/query_reader.h"
#include "api/routes/render.h"
#include "schemas/wire/job_json.h"
#include "schemas/wire/json_text.h"

namespace trainyard::api {
namespace {

constexpr std::int64_t points_min = 6;  // the ends, and the extremes of two parts between
constexpr std::int64_t points_max = 100'000;
constexpr std::int64_t points_default = 1000;

void list_tasks(Backend& backend, const Request& request, const Responder& responder) {
  QueryReader query(request);
  const auto attempt = query.integer("attempt", {.lowest = 1});
  if (const auto problem = query.problem()) return responder.problem(*problem);
  const auto tasks =
      backend.readers->read([&](scheduler::Reader& reader) -> Result<std::vector<TaskAttempt>> {
        TRY(reader.job(job_id_of(request)));
        return reader.tasks(job_id_of(request), attempt);
      });
  if (!tasks) return responder.error(tasks.error());
  nlohmann::json items = nlohmann::json::array();
  for (const TaskAttempt& task : *tasks) items.push_back(task_to_json(task));
  responder.json(200, to_text(page_to_json(std::move(items), std::nullopt)));
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
  backend.scheduler.explain(
      job.id, [responder, ended = std::move(ended), partition = *partition](
                  const Result<std::optional<scheduler::Explanation>>& explained) {
        if (!explained) return responder.error(explained.error());
        responder.json(200, to_text(explanation_to_json(explained->value_or(ended), partition)));
      });
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
  if (const auto problem = query.problem()) return responder.problem(*problem);
  const auto series = backend.readers->read(
      [&](scheduler::Reader& reader) -> Result<std::vector<scheduler::MetricSeries>> {
        TRY(reader.job(job_id_of(request)));
        return reader.metrics(job_id_of(request), wanted);
      });
  if (!series) return responder.error(series.error());
  if (request.header("accept").find("text/csv") != std::string_view::npos) {
    return responder.send(
        {.content_type = "text/csv; charset=utf-8", .body = series_to_csv(*series)});
  }
  responder.json(200, to_text(series_to_json(*series)));
}

}  // namespace

std::vector<Route> job_part_routes(Backend& backend) {
  return {
      {Method::get, "/v1/jobs/{id}/tasks", with(backend, list_tasks)},
      {Method::get, "/v1/jobs/{id}/cluster", with(backend, get_cluster)},
      {Method::get, "/v1/jobs/{id}/explain", with(backend, explain_job)},
      {Method::get, "/v1/jobs/{id}/metrics", with(backend, get_job_metrics)},
  };
}

}  // namespace trainyard::api
