#include "api/client/job_view.h"

#include <algorithm>

#include "api/client/json_read.h"

namespace trainyard::client {
namespace {

std::string failure_words(const nlohmann::json& failure) {
  if (!failure.is_object()) return "";
  std::string words = text_of(failure, "task") + " on " + text_of(failure, "agent") + ": " +
                      text_of(failure, "reason");
  if (const auto exit_code = integer_of(failure, "exit_code")) {
    words += ", exit code " + std::to_string(*exit_code);
  }
  if (const std::string message = text_of(failure, "message"); !message.empty()) {
    words += ", " + message;
  }
  return words;
}

std::vector<StateChange> changes_of(const nlohmann::json& status) {
  std::vector<StateChange> changes;
  for (const nlohmann::json& each : list_of(status, "transitions")) {
    const auto to = job_state_from(text_of(each, "to"));
    if (!to) continue;
    changes.push_back({.to = *to,
                       .reason = text_of(each, "reason"),
                       .message = text_of(each, "message"),
                       .attempt = integer_of(each, "attempt").value_or(0),
                       .time = time_of(each, "time")});
  }
  return changes;
}

bool says(const std::string& message, const nlohmann::json& failure) {
  const auto has = [&](const char* key) {
    return message.find(text_of(failure, key)) != std::string::npos;
  };
  return failure.is_object() && has("task") && has("reason") && has("message");
}

}  // namespace

Result<JobView> parse_job(const nlohmann::json& job) {
  const nlohmann::json& status = member_of(job, "status");
  JobView view;
  view.id = text_of(job, "id");
  const auto state = job_state_from(text_of(status, "state"));
  if (view.id.empty() || !state) {
    return internal("the server's answer is no job that this client understands");
  }
  view.state = *state;
  view.name = text_of(member_of(job, "spec"), "name");
  view.version = integer_of(job, "version").value_or(0);
  view.goal = job_state_from(text_of(status, "goal"));
  view.changes = changes_of(status);
  view.reason = text_of(status, "reason");
  view.message = text_of(status, "message");
  view.attempt = integer_of(status, "attempt").value_or(0);
  view.step = integer_of(status, "step").value_or(0);
  view.max_steps = integer_of(status, "max_steps").value_or(0);
  view.progress = std::clamp(number_of(status, "progress").value_or(0), 0.0, 1.0);
  view.eta_seconds = number_of(status, "eta_seconds");
  view.loss = number_of(status, "loss");
  view.examples_per_second = number_of(status, "examples_per_second");
  const nlohmann::json& metrics = member_of(status, "metrics");
  if (metrics.is_object()) {
    for (const auto& [name, value] : metrics.items()) {
      if (value.is_number()) view.metrics[name] = value.get<double>();
    }
  }
  const nlohmann::json& routes = member_of(status, "routes");
  if (routes.is_object()) {
    for (const auto& [task, words] : routes.items()) {
      if (words.is_string()) view.routes[task] = words.get<std::string>();
    }
  }
  view.latest_checkpoint = integer_of(status, "latest_checkpoint");
  const nlohmann::json& failure = member_of(status, "first_failure");
  view.failure = failure_words(failure);
  view.failure_is_said = says(view.message, failure);
  view.failure_attempt = integer_of(failure, "attempt").value_or(0);
  view.failure_log = text_of(failure, "log_tail");
  view.created_at = time_of(status, "created_at");
  view.started_at = time_of(status, "started_at");
  view.finished_at = time_of(status, "finished_at");
  return view;
}

std::optional<double> JobView::metric(const std::string& metric_name) const {
  const auto found = metrics.find(metric_name);
  return found == metrics.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace trainyard::client
