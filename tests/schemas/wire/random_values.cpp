// RandomValues: what tasks and agents say.
#include "tests/schemas/wire/random_values.h"

#include <limits>

namespace trainyard {
namespace {

constexpr std::int64_t number_max = std::int64_t{1} << 62;
constexpr std::int64_t step_max = std::int64_t{1} << 53;
constexpr std::int64_t bytes_max = std::int64_t{1} << 48;
constexpr std::int64_t time_max = 253'402'300'799'999;

}  // namespace

std::string RandomValues::sha256() {
  std::string hash;
  while (hash.size() < 64) hash += "0123456789abcdef"[integer(0, 15)];
  return hash;
}

std::map<std::string, double> RandomValues::metrics() {
  std::map<std::string, double> metrics;
  for (auto count = integer(0, 4); count > 0; --count) metrics[word(20)] = number(-1e6, 1e6);
  if (coin()) metrics["high"] = std::numeric_limits<double>::infinity();
  if (coin()) metrics["low"] = -std::numeric_limits<double>::infinity();
  if (coin()) metrics["tiny"] = std::numeric_limits<double>::denorm_min();
  return metrics;
}

ArtifactFile RandomValues::artifact() {
  return {"step-" + word(10) + "/" + word(30), integer(0, bytes_max), sha256()};
}

std::vector<ArtifactFile> RandomValues::artifacts() {
  std::vector<ArtifactFile> files;
  for (auto count = integer(0, 3); count > 0; --count) files.push_back(artifact());
  return files;
}

Partition RandomValues::partition() {
  Partition partition;
  partition.policy = static_cast<Partitioning>(integer(0, 2));
  for (auto tables = integer(0, 2); tables > 0; --tables) {
    partition.tables.push_back("t" + printable(20));
  }
  for (auto shares = integer(0, 3); shares > 0; --shares) {
    HeldShare& share = partition.shares.emplace_back();
    share.task = "ps/" + std::to_string(integer(0, 999));
    share.bytes = integer(0, bytes_max);
    share.transport = printable(20);
    for (auto variables = integer(0, 3); variables > 0; --variables) {
      share.variables.push_back(
          {"v" + printable(40), integer(0, bytes_max), integer(0, bytes_max)});
    }
    share.variables_left_out = integer(0, bytes_max);
  }
  return partition;
}

RunEvent RandomValues::run_event() {
  RunEvent event;
  if (coin()) event.time = {integer(1, 4'102'444'800'000)};
  event.offset = integer(0, number_max / 2);
  switch (integer(0, 5)) {
    case 0:
      event.what = PhaseEvent{static_cast<PhaseEvent::Phase>(integer(0, 2)), text(100)};
      break;
    case 1: event.what = MetricEvent{integer(0, step_max), integer(0, 99), metrics()}; break;
    case 2:
      event.what = ShardEvent{
          integer(0, step_max), artifact(), integer(0, step_max), {integer(0, step_max), 0}};
      break;
    case 3:
      event.what = ManifestEvent{integer(0, 99), artifact(), artifacts(), metrics(), coin()};
      if (coin()) std::get<ManifestEvent>(event.what).vocabulary = artifact();
      break;
    case 4: event.what = PartitionEvent{partition()}; break;
    default: event.what = FailureEvent{"BAD_DATA", text(200)}; break;
  }
  return event;
}

TaskKey RandomValues::task_key() {
  return {JobId{"j" + word(20)}, integer(1, number_max), static_cast<Role>(integer(0, 3)),
          integer(0, 1000)};
}

TaskContext RandomValues::task_context() {
  TaskContext context;
  context.spec = job_spec();
  context.key = task_key();
  context.key.role = context.spec.ps.replicas > 0 && coin() ? Role::ps : Role::worker;
  context.key.index = 0;
  context.token = word(60);
  context.spec_hash = sha256();
  for (std::int64_t i = 0; i < context.spec.ps.replicas; ++i) {
    context.cluster.ps.push_back(word(20) + ":" + std::to_string(i));
  }
  for (std::int64_t i = 0; i < context.spec.worker.replicas; ++i) {
    context.cluster.worker.push_back(word(20) + ":" + std::to_string(i));
  }
  if (context.spec.chief) context.cluster.chief = {"chief:1"};
  context.listen = "0.0.0.0:20001";
  context.rows_port = coin() ? 20'002 : 0;
  context.folder = "/" + printable(40);
  if (coin()) {
    context.restore = RestoreFrom{"/" + printable(40), integer(0, 99), artifact(), artifacts()};
  }
  context.keep_files = coin();
  context.tasks_return = coin();
  if (coin()) context.data_cache = {.folder = "/" + printable(40), .bytes_max = integer(0, 99)};
  context.gpu_product_rates = product_rates();
  return context;
}

TaskReport RandomValues::task_report() {
  TaskReport task;
  task.key = task_key();
  task.token = word(60);
  task.state = static_cast<TaskState>(integer(0, 7));
  task.pid = integer(0, 4'194'304);
  if (coin()) {
    task.exit.code = static_cast<int>(integer(0, 255));
  } else if (coin()) {
    task.exit.signal = static_cast<int>(integer(1, 64));
  }
  task.reason = coin() ? Reason::oom_killed : Reason::none;
  task.message = text(100);
  task.events_begin = integer(0, 1'000'000);
  task.events_end = task.events_begin;
  for (auto count = integer(0, 4); count > 0; --count) {
    RunEvent event = run_event();
    event.offset = task.events_end;
    task.events_end += integer(1, 500);
    task.events.push_back(std::move(event));
  }
  task.log_tail = text(500);
  task.started_at = {integer(0, time_max)};
  task.finished_at = {integer(0, time_max)};
  return task;
}

ProductRates RandomValues::product_rates() {
  ProductRates rates;
  for (const Precision precision : {Precision::float32, Precision::tf32, Precision::bfloat16}) {
    if (coin()) rates[precision] = number(1e-6, product_tflops_max);
  }
  return rates;
}

GpuReading RandomValues::gpu_reading(int index) {
  GpuReading gpu{.index = index};
  if (coin()) gpu.temperature_celsius = integer(-10, 120);
  if (coin()) gpu.power_milliwatts = integer(0, 700'000);
  if (coin()) gpu.utilization_percent = integer(0, 100);
  if (coin()) gpu.memory_used_mb = integer(0, 99'999);
  for (auto count = integer(0, 3); count > 0; --count) {
    GpuProcess& process = gpu.strangers.emplace_back();
    process.pid = integer(1, 4'194'304);
    if (coin()) process.memory_mb = integer(0, 99'999);
  }
  return gpu;
}

AgentReport RandomValues::agent_report() {
  AgentReport report;
  report.agent = AgentId{"a" + word(20)};
  report.instance = "i" + word(20);
  report.epoch = integer(0, number_max);
  report.number = integer(0, number_max);
  report.generation = integer(0, number_max);
  report.leaving = integer(0, 1) == 1;
  report.host.address = word(20);
  report.host.capacity = {integer(0, 99), integer(0, 99), integer(0, 8)};
  for (auto count = coin() ? report.host.capacity.gpus : 0; count > 0; --count) {
    GpuInfo& gpu = report.host.gpus.emplace_back();
    gpu = {static_cast<int>(count), printable(20), integer(0, 99'999)};
    if (coin()) gpu.uuid = "GPU-" + std::to_string(count);
    if (coin()) gpu.numa_node = static_cast<int>(integer(0, 7));
    gpu.product_rates = product_rates();
    const std::string& first = report.host.gpus.front().uuid;
    if (!first.empty() && report.host.gpus.size() > 1) gpu.peers = {first};
    if (coin()) report.gpus.push_back(gpu_reading(gpu.index));
  }
  report.host.first_port = static_cast<int>(integer(1, 30'000));
  report.host.last_port = static_cast<int>(integer(30'000, 65'535));
  report.host.labels = labels();
  if (coin()) report.host.allowed_env = {"V" + word(20), "W_*"};
  report.host.agent_version = word(10);
  for (auto count = integer(0, 3); count > 0; --count) report.tasks.push_back(task_report());
  return report;
}

Assignment RandomValues::assignment() {
  Assignment assignment{.agent = AgentId{"a" + word(20)},
                        .instance = "i" + word(20),
                        .epoch = integer(0, number_max),
                        .generation = integer(0, number_max),
                        .answers = integer(0, number_max),
                        .stop_after = Millis{integer(1, 99'999)},
                        .tasks = {}};
  for (auto count = integer(0, 3); count > 0; --count) {
    WantedTask wanted;
    wanted.token = word(60);
    wanted.task = task_context();
    wanted.resources = {integer(0, 99), integer(0, 99), integer(0, 8)};
    wanted.gpus = {0, static_cast<int>(count)};
    if (coin()) {
      wanted.restore = Checkpoint{};  // with what travels alone
      wanted.restore->job = JobId{"j" + word(9)};
      wanted.restore->step = integer(0, number_max);
      wanted.restore->attempt = integer(1, 9);
      wanted.restore->state = CheckpointState::committed;
      wanted.restore->manifest = artifact();
      wanted.restore->shards = artifacts();
    }
    wanted.stop = static_cast<StopOrder>(integer(0, 2));
    wanted.grace = {integer(0, 99'999)};
    wanted.events_stored = integer(0, number_max);
    assignment.tasks.push_back(std::move(wanted));
  }
  return assignment;
}

Manifest RandomValues::manifest() {
  Manifest manifest;
  manifest.step = integer(0, step_max);
  manifest.attempt = integer(1, 99);
  manifest.job = word(20);
  manifest.spec_hash = sha256();
  manifest.mode = coin() ? "sync" : "async";
  manifest.seed = engine_();
  manifest.examples_seen = integer(0, step_max);
  manifest.worker_steps = {integer(0, 99), integer(0, 99)};
  manifest.variables = {{"dense_0/kernel", {784, integer(1, 99)}}, {"scalar", {}}};
  if (coin()) manifest.rows = {{"wide/kernel", {1}}, {"embedding/kernel", {integer(1, 99)}}};
  manifest.slots = {"m", "v"};
  manifest.scalars = metrics();
  manifest.shards = artifacts();
  if (coin()) manifest.vocabulary = artifact();
  manifest.metrics = metrics();
  manifest.description = {{"model", text(20)}, {text(5), ""}};
  return manifest;
}

SafetensorsHeader RandomValues::safetensors_header() {
  SafetensorsHeader header;
  const std::string dtypes[] = {"F32", "F16", "I64", "U8"};
  for (auto count = integer(0, 5); count > 0; --count) {
    SafetensorsEntry entry{
        "t" + std::to_string(9 - count) + text(10), dtypes[integer(0, 3)], {}, 0, 0};
    for (auto rank = integer(0, 3); rank > 0; --rank) entry.shape.push_back(integer(0, 9));
    header.entries.push_back(std::move(entry));
  }
  for (auto count = integer(0, 2); count > 0; --count) header.metadata[text(9)] = text(30);
  return header;
}

}  // namespace trainyard
