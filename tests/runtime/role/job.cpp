// Writes task.json files and starts what they say.
#include "tests/runtime/role/job.h"

#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <sstream>

#include "runtime/files/manifest_file.h"
#include "runtime/files/shard_file.h"
#include "schemas/base/descriptor.h"
#include "schemas/wire/job_spec_json.h"
#include "schemas/wire/run_event_json.h"
#include "schemas/wire/task_json.h"
#include "tests/support/loopback.h"
#include "tests/support/program_path.h"

namespace trainyard::runtime::test {
namespace {

constexpr char kUnknownAddress[] = "127.0.0.1:1";

std::string task_of(Role role, std::int64_t index) {
  return std::string(name_of(role)) + "/" + std::to_string(index);
}

// The number after "port": in a JSON log line.
int port_in(const std::string& line) {
  const std::string key = "\"port\":";
  const auto at = line.find(key);
  return at == std::string::npos ? 0 : std::atoi(line.c_str() + at + key.size());
}

}  // namespace

JobSpec small_job() {
  const auto parsed = parse_job_spec(R"({
    "model": {"name": "mlp", "hidden": [16]},
    "dataset": {"name": "synthetic_digits", "train_examples": 1000, "test_examples": 200},
    "mode": "sync",
    "training": {"batch_size": 20, "max_steps": 60,
                 "optimizer": {"name": "adam", "learning_rate": 0.01}},
    "roles": {"ps": 1, "worker": 2},
    "checkpoint": {"every_steps": 20}})");
  REQUIRE(std::holds_alternative<JobSpec>(parsed));
  return std::get<JobSpec>(parsed);
}

Job::Job(JobSpec spec, std::optional<RestoreFrom> restore)
    : spec_(std::move(spec)), restore_(std::move(restore)) {
  spec_.training.replicas_to_aggregate = training_replicas(spec_);
  cluster_.ps.assign(static_cast<std::size_t>(spec_.ps.replicas), kUnknownAddress);
  cluster_.worker.assign(static_cast<std::size_t>(spec_.worker.replicas), kUnknownAddress);
  cluster_.chief.assign(spec_.chief ? 1 : 0, kUnknownAddress);
}

Job& Job::aggregate(std::int64_t contributions) {
  spec_.training.replicas_to_aggregate = contributions;
  return *this;
}

Job& Job::with_returns() {
  returns_ = true;
  return *this;
}

Job& Job::without_delivery() {
  keeps_files_ = false;
  return *this;
}

std::string Job::folder(const std::string& task) const {
  std::string name = task;
  name[name.find('/')] = '-';
  return folder_.path(name);
}

Child Job::launch(Role role, std::int64_t index) {
  const std::string task = task_of(role, index);
  TaskContext context;
  context.key = {.job = JobId{"job"}, .attempt = 1, .role = role, .index = index};
  context.token = "token";
  context.spec = spec_;
  context.cluster = cluster_;
  if (role == Role::ps) {
    const std::string& known = cluster_.ps[static_cast<std::size_t>(index)];
    context.listen = known == kUnknownAddress ? "127.0.0.1:0" : known;
  }
  if (is_all_reduce()) {
    context.listen = role == Role::chief ? cluster_.chief.front()
                                         : cluster_.worker[static_cast<std::size_t>(index)];
  }
  context.folder = folder(task);
  context.restore = restore_;
  context.keep_files = keeps_files_;
  context.tasks_return = returns_;
  const std::string path = folder_.path(task.substr(0, task.find('/')) + std::to_string(index));
  write_content(path, to_json(context));
  return {program_path("trainyard-runtime"), path};
}

// Peers of an all-reduce know each other's ports before any of them starts, as the scheduler's do.
// Not ports that the OS may give away to anybody's connection before the peer comes for it.
void Job::choose_ports() {
  static std::uint32_t next = std::random_device()();
  std::vector<Descriptor> held;  // until all are chosen, so that none is chosen twice
  const auto choose = [&held](std::string& address) {
    for (int tries = 0; tries < 10000; ++tries) {
      const int port = static_cast<int>(10000 + ++next % 10000);
      Descriptor probe = bind_to_loopback(port);
      if (!probe) continue;
      held.push_back(std::move(probe));
      address = "127.0.0.1:" + std::to_string(port);
      return;
    }
    FAIL("no port is free");
  };
  std::ranges::for_each(cluster_.chief, choose);
  std::ranges::for_each(cluster_.worker, choose);
}

void Job::start() {
  if (is_all_reduce()) choose_ports();
  for (std::int64_t i = 0; i < spec_.ps.replicas; ++i) {
    Child ps = launch(Role::ps, i);
    const int port = port_in(ps.wait_for_line("ps serves"));
    INFO(ps.output());
    REQUIRE(port > 0);
    cluster_.ps[static_cast<std::size_t>(i)] = "127.0.0.1:" + std::to_string(port);
    children_.emplace(task_of(Role::ps, i), std::move(ps));
  }
  if (spec_.chief) children_.emplace("chief/0", launch(Role::chief, 0));
  for (std::int64_t i = 0; i < spec_.worker.replicas; ++i) {
    Child& worker =
        children_.emplace(task_of(Role::worker, i), launch(Role::worker, i)).first->second;
    if (i == 0 && has_backup_workers(spec_)) {
      INFO(worker.output());
      REQUIRE_FALSE(worker.wait_for_line("\"training\"").empty());
    }
  }
}

std::map<std::string, int> Job::stop_all() {
  for (const auto& [name, child] : children_) child.signal(SIGTERM);
  return wait_all();
}

std::map<std::string, int> Job::wait_all() {
  std::map<std::string, int> codes;
  for (auto& [name, child] : children_) codes[name] = child.wait();
  return codes;
}

std::vector<RunEvent> Job::events(const std::string& task) const {
  std::istringstream lines(content_of(folder(task) + "/events.jsonl"));
  std::vector<RunEvent> events;
  for (std::string line; std::getline(lines, line);) {
    auto event = parse_run_event(line, 0);
    REQUIRE(event.has_value());
    events.push_back(std::move(*event));
  }
  return events;
}

// The task that holds share `index`.
std::string Job::holder_of(std::int64_t index) const {
  if (spec_.ps.replicas > 0) return task_of(Role::ps, index);
  if (!spec_.chief) return task_of(Role::worker, index);
  return index == 0 ? "chief/0" : task_of(Role::worker, index - 1);
}

std::optional<RestoreFrom> Job::newest_checkpoint() const {
  const std::string chief = spec_.chief ? "chief/0" : "worker/0";
  std::optional<ManifestEvent> newest;
  for (const RunEvent& event : events(chief)) {
    if (const auto* manifest = std::get_if<ManifestEvent>(&event.what)) newest = *manifest;
  }
  if (!newest) return std::nullopt;

  namespace fs = std::filesystem;
  const std::string gathered = folder_.path("restore");
  fs::create_directories(fs::path(gathered) / step_folder(newest->step));
  const auto gather = [&gathered](const std::string& from, const std::string& name) {
    fs::copy_file(from + "/" + name, gathered + "/" + name, fs::copy_options::overwrite_existing);
  };
  gather(folder(chief), newest->manifest.name);
  for (std::size_t i = 0; i < newest->shards.size(); ++i) {
    gather(folder(holder_of(static_cast<std::int64_t>(i))), newest->shards[i].name);
  }
  return RestoreFrom{.folder = gathered,
                     .step = newest->step,
                     .manifest = newest->manifest,
                     .shards = newest->shards};
}

std::vector<float> Job::final_weights() const {
  const auto newest = newest_checkpoint();
  REQUIRE(newest);
  const auto manifest = read_manifest(*newest);
  REQUIRE(manifest.has_value());
  std::vector<Variable> variables;
  std::int64_t offset = 0;
  for (const VariableInfo& variable : manifest->variables) {
    std::int64_t elements = 1;
    for (const std::int64_t size : variable.shape) elements *= size;
    variables.push_back({variable.name, variable.shape, offset, elements});
    offset += elements;
  }
  const auto restored = restore_share({.folder = newest->folder,
                                       .files = newest->shards,
                                       .variables = variables,
                                       .share = Share{.ranges = {{0, offset}}},
                                       .slot_names = {}});
  REQUIRE(restored.has_value());
  return {restored->weights.span().begin(), restored->weights.span().end()};
}

}  // namespace trainyard::runtime::test
