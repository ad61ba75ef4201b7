#include "schemas/wire/job_json.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "schemas/wire/artifact_json.h"
#include "schemas/wire/job_spec_json.h"

namespace trainyard {
namespace {

using nlohmann::json;

json text_or_null(std::string_view text) { return text.empty() ? json(nullptr) : json(text); }

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json metrics_to_json(const std::map<std::string, double>& metrics) {
  json object = json::object();
  for (const auto& [name, value] : metrics) object[name] = number_to_json(value);
  return object;
}

std::optional<double> metric(const Job& job, const std::string& name) {
  const auto found = job.progress.metrics.find(name);
  if (found == job.progress.metrics.end() || !std::isfinite(found->second)) return std::nullopt;
  return found->second;
}

double progress_of(const Job& job) {
  if (job.state == JobState::succeeded) return 1;
  if (job.progress.max_steps <= 0) return 0;
  const auto step = static_cast<double>(job.progress.step);
  return std::clamp(step / static_cast<double>(job.progress.max_steps), 0.0, 1.0);
}

// What the present speed makes of the steps that are left, up to the next second; known only while
// the job runs, and not where it is beyond all use.
std::optional<std::int64_t> eta_seconds(const Job& job) {
  const auto speed = metric(job, "steps_per_second");
  if (job.state != JobState::running || !speed || *speed <= 0 || job.progress.max_steps <= 0) {
    return std::nullopt;
  }
  const std::int64_t left = std::max<std::int64_t>(job.progress.max_steps - job.progress.step, 0);
  constexpr double seconds_max = 1e12;
  const double seconds = std::ceil(static_cast<double>(left) / *speed);
  return seconds <= seconds_max ? std::optional(static_cast<std::int64_t>(seconds)) : std::nullopt;
}

json roles_to_json(const Job& job, const std::vector<TaskAttempt>& tasks) {
  json roles = json::object();
  const auto add = [&](Role role, std::int64_t desired) {
    if (desired == 0) return;
    const auto running = std::ranges::count_if(tasks, [&](const TaskAttempt& task) {
      return task.key.attempt == job.attempt && task.key.role == role &&
             task.state == TaskState::running && !task.agent_silent;
    });
    roles[std::string(name_of(role))] = {{"desired", desired}, {"running", running}};
  };
  add(Role::ps, job.spec.ps.replicas);
  add(Role::worker, job.spec.worker.replicas);
  if (job.spec.chief) add(Role::chief, job.spec.chief->replicas);
  if (job.spec.evaluator) add(Role::evaluator, job.spec.evaluator->replicas);
  return roles;
}

// Of the newest attempt's tasks that have told, by task.
json routes_to_json(const Job& job, const std::vector<TaskAttempt>& tasks) {
  json routes = json::object();
  for (const TaskAttempt& task : tasks) {
    if (task.key.attempt != job.attempt || task.routes.empty()) continue;
    routes[task_name(task.key)] = task.routes;
  }
  return routes;
}

json failure_to_json(const FirstFailure& failure) {
  return {{"task", failure.task},
          {"attempt", failure.attempt},
          {"agent", text_or_null(failure.agent.text)},
          {"reason", text_or_null(name_of(failure.reason))},
          {"exit_code", or_null(failure.exit.code)},
          {"signal", or_null(failure.exit.signal)},
          {"message", failure.message},
          {"log_tail", failure.log_tail}};
}

json transition_to_json(const Transition& transition) {
  return {{"from", name_of(transition.from)},
          {"to", name_of(transition.to)},
          {"reason", text_or_null(name_of(transition.reason))},
          {"reason_class", text_or_null(name_of(class_of(transition.reason)))},
          {"message", transition.message},
          {"attempt", transition.attempt},
          {"time", time_to_json(transition.time)}};
}

json status_to_json(const Job& job, const std::vector<TaskAttempt>& tasks) {
  json transitions = json::array();
  for (const Transition& each : job.transitions) transitions.push_back(transition_to_json(each));
  const bool stopping = job.state == JobState::stopping;
  return {
      {"state", name_of(job.state)},
      {"goal", stopping ? json(name_of(job.goal)) : json(nullptr)},
      {"reason", text_or_null(name_of(job.reason))},
      {"reason_class", text_or_null(name_of(class_of(job.reason)))},
      {"message", job.message},
      {"attempt", job.attempt},
      {"step", job.progress.step},
      {"max_steps", job.progress.max_steps > 0 ? json(job.progress.max_steps) : json(nullptr)},
      {"progress", progress_of(job)},
      {"eta_seconds", or_null(eta_seconds(job))},
      {"loss", or_null(metric(job, "loss"))},
      {"metrics", metrics_to_json(job.progress.metrics)},
      {"examples_per_second", or_null(metric(job, "examples_per_second"))},
      {"steps_per_second", or_null(metric(job, "steps_per_second"))},
      {"restarts", {{"user", job.restarts.user}, {"infra", job.restarts.infra}}},
      {"roles", roles_to_json(job, tasks)},
      {"routes", routes_to_json(job, tasks)},
      {"first_failure", job.first_failure ? failure_to_json(*job.first_failure) : json(nullptr)},
      {"latest_checkpoint", or_null(job.latest_checkpoint)},
      {"transitions", std::move(transitions)},
      {"created_at", time_to_json(job.created_at)},
      {"started_at", time_to_json(job.started_at)},
      {"finished_at", time_to_json(job.finished_at)}};
}

// The spec as it was stored and hashed, even where a newer version would fill in more.
json spec_as_served(const Job& job) {
  json spec = json::parse(job.spec_json, nullptr, false);
  return spec.is_object() ? spec : to_json_value(job.spec);
}

std::string state_shown(const TaskAttempt& task) {
  if (task.agent_silent && !is_terminal(task.state)) return "unknown";
  return std::string(name_of(task.state));
}

}  // namespace

json job_to_json(const Job& job, const std::vector<TaskAttempt>& tasks) {
  return {{"id", job.id.text},
          {"version", job.version},
          {"spec", spec_as_served(job)},
          {"spec_hash", job.spec_hash},
          {"status", status_to_json(job, tasks)}};
}

json task_to_json(const TaskAttempt& task) {
  const std::string address = task.host + ":" + std::to_string(task.port);
  return {{"task", task_name(task.key)},
          {"role", name_of(task.key.role)},
          {"index", task.key.index},
          {"attempt", task.key.attempt},
          {"agent", task.agent.text},
          {"host", task.host},
          {"address", task.port > 0 ? json(address) : json(nullptr)},
          {"pid", task.pid > 0 ? json(task.pid) : json(nullptr)},
          {"gpus", task.gpus},
          {"resources",
           {{"cpus", task.resources.cpus},
            {"memory_mb", task.resources.memory_mb},
            {"gpus", task.resources.gpus}}},
          {"state", state_shown(task)},
          {"exit_code", or_null(task.exit.code)},
          {"signal", or_null(task.exit.signal)},
          {"reason", text_or_null(name_of(task.reason))},
          {"reason_class", text_or_null(name_of(class_of(task.reason)))},
          {"message", task.message},
          {"assigned_at", time_to_json(task.assigned_at)},
          {"started_at", time_to_json(task.started_at)},
          {"finished_at", time_to_json(task.finished_at)}};
}

json checkpoint_to_json(const Checkpoint& checkpoint) {
  json files = artifacts_to_json(checkpoint.shards);
  files.insert(files.begin(), artifact_to_json(checkpoint.manifest));
  std::int64_t bytes = checkpoint.manifest.bytes;
  for (const ArtifactFile& shard : checkpoint.shards) bytes += shard.bytes;
  return {{"step", checkpoint.step},
          {"attempt", checkpoint.attempt},
          {"created_at", time_to_json(checkpoint.created_at)},
          {"bytes", bytes},
          {"files", std::move(files)},
          {"metrics", metrics_to_json(checkpoint.metrics)},
          {"final", checkpoint.final_one}};
}

json time_to_json(WallTime time) { return time.is_set() ? json(to_rfc3339(time)) : json(nullptr); }

json number_to_json(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

}  // namespace trainyard
