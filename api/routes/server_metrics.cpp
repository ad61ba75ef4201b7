// Counters -> Prometheus, by its client library.
#include "api/routes/server_metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <optional>
#include <utility>
#include <vector>

#include "schemas/types/agent.h"
#include "schemas/types/job.h"
#include "schemas/types/staleness.h"

namespace trainyard::api {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

MetricFamily family(std::string name, std::string help, MetricType type) {
  MetricFamily made;
  made.name = std::move(name);
  made.help = std::move(help);
  made.type = type;
  return made;
}

MetricFamily counter(std::string name, std::string help, std::int64_t value) {
  MetricFamily made = family(std::move(name), std::move(help), MetricType::Counter);
  made.metric.emplace_back().counter.value = static_cast<double>(value);
  return made;
}

ClientMetric& add_gauge(MetricFamily& made, std::int64_t value) {
  ClientMetric& metric = made.metric.emplace_back();
  metric.gauge.value = static_cast<double>(value);
  return metric;
}

MetricFamily jobs_gauge(const std::map<std::string, std::int64_t>& jobs_by_state) {
  MetricFamily made = family("trainyard_jobs", "Jobs by state.", MetricType::Gauge);
  for (const JobState state : job_states) {
    const std::string name(name_of(state));
    const auto counted = jobs_by_state.find(name);
    const std::int64_t count = counted == jobs_by_state.end() ? 0 : counted->second;
    add_gauge(made, count).label.push_back({"state", name});
  }
  return made;
}

MetricFamily agents_gauge(const scheduler::Scheduler::Counters& counters) {
  MetricFamily made = family("trainyard_agents", "Agents by state.", MetricType::Gauge);
  for (std::size_t at = 0; at < counters.agents.size(); ++at) {
    const auto state = static_cast<AgentState>(at);
    add_gauge(made, counters.agents.at(at)).label.push_back({"state", std::string(name_of(state))});
  }
  return made;
}

std::optional<double> scaled(const std::optional<std::int64_t>& value, double factor) {
  return value ? std::optional(static_cast<double>(*value) * factor) : std::nullopt;
}

using scheduler::ShownGpu;

struct GpuGauge {
  const char* name;
  const char* help;
  std::optional<double> (*value)(const ShownGpu&);
};
constexpr double mebibyte = 1024 * 1024;
constexpr GpuGauge gpu_gauges[] = {
    {"trainyard_gpu_temperature_celsius", "Temperature of a GPU slot.",
     [](const ShownGpu& of) { return scaled(of.reading.temperature_celsius, 1); }},
    {"trainyard_gpu_power_watts", "Power that a GPU slot takes.",
     [](const ShownGpu& of) { return scaled(of.reading.power_milliwatts, 1e-3); }},
    {"trainyard_gpu_utilization_ratio", "Share of the time that a GPU slot computes, 0 to 1.",
     [](const ShownGpu& of) { return scaled(of.reading.utilization_percent, 1e-2); }},
    {"trainyard_gpu_memory_used_bytes", "Memory of a GPU slot in use, by whomever.",
     [](const ShownGpu& of) { return scaled(of.reading.memory_used_mb, mebibyte); }},
    {"trainyard_gpu_memory_bytes", "Memory of a GPU slot.",
     [](const ShownGpu& of) { return scaled(of.gpu.memory_mb, mebibyte); }},
    {"trainyard_gpu_strangers", "Processes on a GPU slot that are no task's of its agent.",
     [](const ShownGpu& of) { return scaled(std::ssize(of.reading.strangers), 1); }},
};

// Of agents that are in touch, as they last reported.
void add_gpus(const std::vector<ShownGpu>& gpus, std::vector<MetricFamily>& families) {
  for (const GpuGauge& gauge : gpu_gauges) {
    MetricFamily made = family(gauge.name, gauge.help, MetricType::Gauge);
    for (const ShownGpu& of : gpus) {
      const std::optional<double> value = gauge.value(of);
      if (!value) continue;
      ClientMetric& metric = made.metric.emplace_back();
      metric.label = {{"agent", of.agent},
                      {"slot", std::to_string(of.gpu.index)},
                      {"uuid", of.gpu.uuid},
                      {"name", of.gpu.name}};
      metric.gauge.value = *value;
    }
    if (!made.metric.empty()) families.push_back(std::move(made));
  }
}

MetricFamily save_histogram(const scheduler::Scheduler::Counters& counters) {
  MetricFamily made = family("trainyard_save_seconds", "How long transactions of the store take.",
                             MetricType::Histogram);
  auto& histogram = made.metric.emplace_back().histogram;
  std::uint64_t cumulative = 0;
  for (std::size_t at = 0; at < counters.save_buckets.size(); ++at) {
    cumulative += static_cast<std::uint64_t>(counters.saves_within.at(at).load());
    auto& bucket = histogram.bucket.emplace_back();
    bucket.cumulative_count = cumulative;
    bucket.upper_bound = counters.save_buckets.at(at);
  }
  histogram.sample_count = std::max(cumulative, static_cast<std::uint64_t>(counters.saves.load()));
  histogram.sample_sum = static_cast<double>(counters.save_micros) / 1e6;
  return made;
}

// Each range by itself: a job tells of its updates, not of the sum that a histogram must have.
MetricFamily updates_by_staleness(const std::vector<Job>& running) {
  MetricFamily made = family("trainyard_job_updates_total",
                             "Updates of a running asynchronous job in its attempt, by staleness.",
                             MetricType::Counter);
  for (const Job& job : running) {
    for (const StalenessRange& range : staleness_ranges) {
      const std::string name(range.name);
      const auto& metrics = job.progress.metrics;
      const auto found = metrics.find(std::string(staleness_metric_prefix) + name);
      if (found == metrics.end()) continue;
      ClientMetric& metric = made.metric.emplace_back();
      metric.label = {{"job", job.id.text}, {"staleness", name}};
      metric.counter.value = found->second;
    }
  }
  return made;
}

}  // namespace

std::string server_metrics_text(const scheduler::Scheduler::Counters& counters,
                                const std::map<std::string, std::int64_t>& jobs_by_state,
                                const std::vector<Job>& running) {
  MetricFamily inbox =
      family("trainyard_inbox_size", "Requests and reports that wait for the scheduler.",
             MetricType::Gauge);
  add_gauge(inbox, counters.inbox_size);
  std::vector<MetricFamily> families{
      jobs_gauge(jobs_by_state),
      agents_gauge(counters),
      updates_by_staleness(running),
      std::move(inbox),
      counter("trainyard_steps_total", "Events that the scheduler's core has taken.",
              counters.steps),
      save_histogram(counters),
      counter("trainyard_failed_saves_total", "Transactions of the store that failed.",
              counters.failed_saves),
      counter("trainyard_run_events_total", "Run events of tasks that were stored.",
              counters.run_events),
      counter("trainyard_refused_total", "Requests and reports that found the inbox full.",
              counters.refused),
  };
  add_gpus(counters.gpus.shown(), families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace trainyard::api
