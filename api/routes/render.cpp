// Values -> JSON for the routes.
#include "api/routes/render.h"

#include <algorithm>
#include <utility>

#include "schemas/wire/job_json.h"
#include "schemas/wire/json_text.h"
#include "schemas/wire/partition_json.h"
#include "schemas/wire/product_rates_json.h"

namespace trainyard::api {
namespace {

using nlohmann::json;

json resources_to_json(const Resources& resources) {
  return {{"cpus", resources.cpus}, {"memory_mb", resources.memory_mb}, {"gpus", resources.gpus}};
}

json text_or_null(std::string_view text) { return text.empty() ? json(nullptr) : json(text); }

template <class T>
json value_or_null(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json gpu_to_json(const GpuInfo& gpu, const std::vector<GpuReading>& readings) {
  const auto found = std::ranges::find(readings, gpu.index, &GpuReading::index);
  const GpuReading now = found == readings.end() ? GpuReading{} : *found;
  json strangers = json::array();
  for (const GpuProcess& process : now.strangers) {
    strangers.push_back({{"pid", process.pid}, {"memory_mb", value_or_null(process.memory_mb)}});
  }
  const auto scaled = [](const std::optional<std::int64_t>& value, double divisor) {
    return value ? json(static_cast<double>(*value) / divisor) : json(nullptr);
  };
  return {{"index", gpu.index},
          {"name", gpu.name},
          {"memory_mb", gpu.memory_mb},
          {"uuid", text_or_null(gpu.uuid)},
          {"numa_node", value_or_null(gpu.numa_node)},
          {"nvlink_peers", gpu.peers},
          {"product_tflops", product_rates_to_json(gpu.product_rates)},
          {"temperature_celsius", value_or_null(now.temperature_celsius)},
          {"power_watts", scaled(now.power_milliwatts, 1000)},
          {"utilization", scaled(now.utilization_percent, 100)},
          {"memory_used_mb", value_or_null(now.memory_used_mb)},
          {"strangers", std::move(strangers)}};
}

json shortage_to_json(const scheduler::HostShortage& host) {
  return {{"agent", host.agent.text},
          {"state", name_of(host.state)},
          {"capacity", resources_to_json(host.capacity)},
          {"free", resources_to_json(host.free)},
          {"missing", resources_to_json(host.missing)},
          {"tasks_that_fit", host.tasks_that_fit},
          {"message", host.message}};
}

}  // namespace

json agent_to_json(const scheduler::AgentView& agent) {
  const HostInfo& host = agent.record.host;
  json gpus = json::array();
  for (const GpuInfo& gpu : host.gpus) gpus.push_back(gpu_to_json(gpu, agent.gpus));
  json tasks = json::array();
  for (const auto& [key, slots] : agent.tasks) {
    tasks.push_back({{"job", key.job.text},
                     {"attempt", key.attempt},
                     {"task", task_name(key)},
                     {"gpus", slots}});
  }
  return {{"id", agent.record.id.text},
          {"state", name_of(agent.record.state)},
          {"state_since", time_to_json(agent.record.state_since)},
          {"registered_at", time_to_json(agent.record.registered_at)},
          {"cordoned", agent.record.cordoned},
          {"address", host.address},
          {"capacity", resources_to_json(host.capacity)},
          {"used", resources_to_json(agent.used)},
          {"gpus", std::move(gpus)},
          {"labels", host.labels},
          {"allowed_env", host.allowed_env},
          {"version", host.agent_version},
          {"silent_seconds", agent.silence.count / 1000},
          {"tasks", std::move(tasks)}};
}

json plan_to_json(const scheduler::Plan& plan) {
  json tasks = json::array();
  for (const scheduler::PlannedTask& task : plan.tasks) {
    tasks.push_back({{"task", task.task}, {"agent", task.agent.text}, {"gpus", task.gpus}});
  }
  return {{"placeable_now", plan.placeable_now},
          {"message", plan.message},
          {"tasks", std::move(tasks)}};
}

json explanation_to_json(const scheduler::Explanation& explanation,
                         const std::optional<scheduler::PartitionRow>& partition) {
  json hosts = json::array();
  for (const auto& host : explanation.hosts) hosts.push_back(shortage_to_json(host));
  json would_free_enough = json::array();
  for (const JobId& job : explanation.would_free_enough) would_free_enough.push_back(job.text);
  return {
      {"job", explanation.job.text},
      {"state", name_of(explanation.state)},
      {"reason", text_or_null(name_of(explanation.reason))},
      {"message", explanation.message},
      {"queue_position", value_or_null(explanation.queue_position)},
      {"queue_length", value_or_null(explanation.queue_length)},
      {"not_before", time_to_json(explanation.not_before)},
      {"hosts", std::move(hosts)},
      {"would_free_enough", std::move(would_free_enough)},
      {"partition", partition ? shown_partition_to_json(partition->partition, partition->attempt)
                              : json(nullptr)}};
}

json event_to_json(const scheduler::JobEventRow& event) {
  return {{"id", event.id},
          {"time", time_to_json(event.time)},
          {"kind", event.kind},
          {"state", event.state ? json(name_of(*event.state)) : json(nullptr)},
          {"message", event.message},
          {"task", text_or_null(event.task)},
          {"reason", text_or_null(name_of(event.reason))},
          {"reason_class", text_or_null(name_of(class_of(event.reason)))},
          {"attempt", event.attempt}};
}

std::string series_to_text(const std::vector<scheduler::MetricSeries>& series) {
  std::string text = R"({"series":[)";
  for (const scheduler::MetricSeries& one : series) {
    if (text.back() != '[') text += ',';
    text += R"({"name":)" + to_text(one.name) + R"(,"points":[)";
    for (const scheduler::MetricPoint& point : one.points) {
      if (text.back() != '[') text += ',';
      text += R"({"step":)" + std::to_string(point.step) + R"(,"time":)" +
              time_to_json(point.time).dump() + R"(,"value":)" +
              number_to_json(point.value).dump() + '}';
    }
    text += "]}";
  }
  return text + "]}";
}

std::string series_to_csv(const std::vector<scheduler::MetricSeries>& series) {
  std::string csv = "name,step,time,value\n";
  for (const scheduler::MetricSeries& one : series) {
    for (const scheduler::MetricPoint& point : one.points) {
      const json value = number_to_json(point.value);
      csv += one.name + ',' + std::to_string(point.step) + ',' + to_rfc3339(point.time) + ',' +
             (value.is_null() ? "" : value.dump()) + '\n';
    }
  }
  return csv;
}

json cluster_to_json(const std::vector<TaskAttempt>& tasks) {
  std::vector<const TaskAttempt*> ordered;
  for (const TaskAttempt& task : tasks) ordered.push_back(&task);
  std::ranges::sort(ordered, {}, [](const TaskAttempt* task) { return task->key; });
  json cluster = json::object();
  for (const TaskAttempt* task : ordered) {
    cluster[std::string(name_of(task->key.role))].push_back(task->host + ':' +
                                                            std::to_string(task->port));
  }
  return cluster;
}

}  // namespace trainyard::api
