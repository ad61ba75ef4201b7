#include "schemas/wire/agent_codec.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "schemas/base/utf8.h"
#include "schemas/wire/artifact_json.h"
#include "schemas/wire/gpu_codec.h"
#include "schemas/wire/json_fields.h"
#include "schemas/wire/report_check.h"
#include "schemas/wire/run_event_json.h"
#include "schemas/wire/stop_order.h"
#include "schemas/wire/task_json.h"

namespace trainyard {
namespace {

Status check_id(std::string_view what, std::string_view id) {
  if (is_id(id)) return ok();
  return invalid(std::string(what) + " must be " + std::string(id_rule) + ", got \"" +
                 to_valid_utf8(id.substr(0, id_length_max)) + "\"");
}

Status check_instance(std::string_view instance) { return check_id("agent instance", instance); }

Status check_at_least(std::string_view what, std::int64_t least, std::int64_t value) {
  if (value >= least) return ok();
  return invalid(std::string(what) + " must be " + std::to_string(least) + " or more, got " +
                 std::to_string(value));
}

proto::Resources to_proto(const Resources& resources) {
  proto::Resources message;
  message.set_cpus(resources.cpus);
  message.set_memory_mb(resources.memory_mb);
  message.set_gpus(resources.gpus);
  return message;
}

Result<Resources> resources_from(const proto::Resources& message) {
  TRY(check_at_least("cpus", 0, message.cpus()));
  TRY(check_at_least("memory_mb", 0, message.memory_mb()));
  TRY(check_at_least("gpus", 0, message.gpus()));
  return Resources{message.cpus(), message.memory_mb(), message.gpus()};
}

proto::HostInfo to_proto(const HostInfo& host) {
  proto::HostInfo message;
  message.set_address(host.address);
  *message.mutable_capacity() = to_proto(host.capacity);
  for (const GpuInfo& gpu : host.gpus) *message.add_gpus() = to_proto(gpu);
  message.set_first_port(host.first_port);
  message.set_last_port(host.last_port);
  for (const auto& [key, value] : host.labels) {
    (*message.mutable_labels())[to_valid_utf8(key)] = to_valid_utf8(value);
  }
  message.set_agent_version(host.agent_version);
  for (const std::string& pattern : host.allowed_env) message.add_allowed_env(pattern);
  return message;
}

// As it is said; check_report judges.
HostInfo host_from(const proto::HostInfo& message) {
  HostInfo host;
  host.address = message.address();
  const proto::Resources& capacity = message.capacity();
  host.capacity = {capacity.cpus(), capacity.memory_mb(), capacity.gpus()};
  for (const proto::GpuInfo& gpu : message.gpus()) host.gpus.push_back(gpu_from(gpu));
  host.first_port = message.first_port();
  host.last_port = message.last_port();
  for (const auto& [key, value] : message.labels()) host.labels.emplace(key, value);
  host.agent_version = message.agent_version();
  host.allowed_env.assign(message.allowed_env().begin(), message.allowed_env().end());
  return host;
}

proto::TaskReport to_proto(const TaskReport& task) {
  proto::TaskReport message;
  *message.mutable_key() = to_proto(task.key);
  message.set_token(task.token);
  message.set_state(std::string(name_of(task.state)));
  message.set_pid(task.pid);
  if (task.exit.code) message.mutable_exit()->set_code(*task.exit.code);
  if (task.exit.signal) message.mutable_exit()->set_signal(*task.exit.signal);
  message.set_reason(std::string(name_of(task.reason)));
  message.set_message(to_valid_utf8(task.message));
  message.set_events_begin(task.events_begin);
  message.set_events_end(task.events_end);
  for (const RunEvent& event : task.events) {
    proto::RunEventLine& line = *message.add_events();
    line.set_offset(event.offset);
    line.set_json(to_json_line(event));
  }
  message.set_log_tail(to_valid_utf8(task.log_tail));
  message.set_started_unix_millis(task.started_at.unix_millis);
  message.set_finished_unix_millis(task.finished_at.unix_millis);
  return message;
}

Result<TaskReport> task_report_from(const proto::TaskReport& message) {
  TaskReport task;
  TRY_ASSIGN(task.key, trainyard::from_proto(message.key()));
  task.token = message.token();
  const auto state = task_state_from(message.state());
  if (!state) return invalid("unknown state \"" + message.state() + "\"");
  task.state = *state;
  task.pid = message.pid();
  if (message.exit().has_code()) task.exit.code = message.exit().code();
  if (message.exit().has_signal()) task.exit.signal = message.exit().signal();
  task.reason = reason_from(message.reason());
  task.message = message.message();
  for (const proto::RunEventLine& line : message.events()) {
    TRY_ASSIGN(RunEvent event, parse_run_event(line.json(), line.offset()));
    task.events.push_back(std::move(event));
  }
  task.events_begin = message.events_begin();
  task.events_end = message.events_end();
  task.log_tail = message.log_tail();
  task.started_at = {message.started_unix_millis()};
  task.finished_at = {message.finished_unix_millis()};
  return task;
}

// The files alone travel: what else a Checkpoint has, an agent has no use for.
proto::RestoreFiles to_proto(const Checkpoint& checkpoint) {
  proto::RestoreFiles message;
  message.set_job(checkpoint.job.text);
  message.set_step(checkpoint.step);
  message.set_attempt(checkpoint.attempt);
  *message.mutable_manifest() = to_proto(checkpoint.manifest);
  for (const ArtifactFile& shard : checkpoint.shards) *message.add_shards() = to_proto(shard);
  return message;
}

Result<Checkpoint> checkpoint_from(const proto::RestoreFiles& message) {
  Checkpoint checkpoint;
  TRY(check_id("job of a checkpoint", message.job()));
  TRY(check_at_least("step of a checkpoint", 0, message.step()));
  checkpoint.job = JobId{message.job()};
  checkpoint.step = message.step();
  checkpoint.attempt = message.attempt();
  checkpoint.state = CheckpointState::committed;
  TRY_ASSIGN(checkpoint.manifest, trainyard::from_proto(message.manifest()));
  for (const proto::ArtifactFile& shard : message.shards()) {
    TRY_ASSIGN(ArtifactFile file, trainyard::from_proto(shard));
    checkpoint.shards.push_back(std::move(file));
  }
  return checkpoint;
}

// Whether the tasks differ in no more than role, index and where they listen.
bool share_context(const TaskContext& a, const TaskContext& b) {
  return a.key.job == b.key.job && a.key.attempt == b.key.attempt && a.token == b.token &&
         a.spec_hash == b.spec_hash && a.cluster == b.cluster && a.folder == b.folder &&
         a.restore == b.restore && a.keep_files == b.keep_files &&
         a.tasks_return == b.tasks_return && a.spec == b.spec;
}

bool are_same_files(const Checkpoint& a, const Checkpoint& b) {
  return a.job == b.job && a.step == b.step && a.attempt == b.attempt && a.manifest == b.manifest &&
         a.shards == b.shards;
}

// Puts what tasks have in common into the assignment once. Looks back from the newest: the tasks of
// a job stand together.
class CommonParts {
 public:
  explicit CommonParts(proto::Assignment& of) : message_(of) {}

  int context_of(const TaskContext& task) {
    const auto known = std::find_if(contexts_.rbegin(), contexts_.rend(),
                                    [&](const auto* c) { return share_context(*c, task); });
    if (known != contexts_.rend()) return static_cast<int>(contexts_.rend() - known) - 1;
    contexts_.push_back(&task);
    message_.add_contexts(to_json(task));
    return message_.contexts_size() - 1;
  }

  int restore_of(const Checkpoint& checkpoint) {
    const auto known = std::find_if(restores_.rbegin(), restores_.rend(),
                                    [&](const auto* r) { return are_same_files(*r, checkpoint); });
    if (known != restores_.rend()) return static_cast<int>(restores_.rend() - known) - 1;
    restores_.push_back(&checkpoint);
    *message_.add_restores() = to_proto(checkpoint);
    return message_.restores_size() - 1;
  }

 private:
  proto::Assignment& message_;
  std::vector<const TaskContext*> contexts_;
  std::vector<const Checkpoint*> restores_;
};

proto::WantedTask to_proto(const WantedTask& wanted, CommonParts& common) {
  proto::WantedTask message;
  *message.mutable_key() = to_proto(wanted.task.key);
  message.set_listen(wanted.task.listen);
  message.set_rows_port(wanted.task.rows_port);
  message.set_context(common.context_of(wanted.task));
  if (wanted.restore) message.set_restore(common.restore_of(*wanted.restore));
  *message.mutable_resources() = to_proto(wanted.resources);
  for (const int gpu : wanted.gpus) message.add_gpus(gpu);
  message.set_stop(to_proto(wanted.stop));
  message.set_grace_millis(wanted.grace.count);
  message.set_events_stored(wanted.events_stored);
  message.set_token(wanted.token);
  return message;
}

struct Decoded {
  std::vector<TaskContext> contexts;
  std::vector<Checkpoint> restores;
};

template <class Part>
Result<Part> part_at(const std::vector<Part>& parts, int index, std::string_view what) {
  if (index >= 0 && std::cmp_less(index, parts.size()))
    return parts[static_cast<std::size_t>(index)];
  return invalid("the assignment has no " + std::string(what) + " " + std::to_string(index));
}

Result<WantedTask> wanted_task_from(const proto::WantedTask& message, const Decoded& common) {
  WantedTask wanted;
  TRY_ASSIGN(wanted.task, part_at(common.contexts, message.context(), "context"));
  TRY_ASSIGN(TaskKey key, trainyard::from_proto(message.key()));
  if (key.job != wanted.task.key.job || key.attempt != wanted.task.key.attempt) {
    return invalid(to_string(key) + " is given the context of another job or attempt");
  }
  wanted.task.key = std::move(key);
  wanted.task.listen = message.listen();
  if (message.rows_port() < 0 || message.rows_port() > 65'535) {
    return invalid("rows_port must be 0 to 65535");
  }
  wanted.task.rows_port = message.rows_port();
  TRY(check_task_context(wanted.task));
  TRY_ASSIGN(wanted.resources, resources_from(message.resources()));
  wanted.gpus.assign(message.gpus().begin(), message.gpus().end());
  if (message.has_restore()) {
    TRY_ASSIGN(wanted.restore, part_at(common.restores, message.restore(), "restore"));
  }
  TRY_ASSIGN(wanted.stop, stop_order_from(message.stop()));
  TRY(check_at_least("grace_millis", 0, message.grace_millis()));
  wanted.grace = {message.grace_millis()};
  TRY(check_at_least("events_stored", 0, message.events_stored()));
  wanted.events_stored = message.events_stored();
  constexpr std::size_t token_length_max = 300;
  if (message.token().size() > token_length_max) return invalid("a task's token is too long");
  wanted.token = message.token();
  return wanted;
}

Result<std::vector<WantedTask>> wanted_tasks_from(const proto::Assignment& message) {
  Decoded common;
  for (const std::string& context : message.contexts()) {
    TRY_ASSIGN(TaskContext decoded, parse_task_context(context));
    common.contexts.push_back(std::move(decoded));
  }
  for (const proto::RestoreFiles& restore : message.restores()) {
    TRY_ASSIGN(Checkpoint decoded, checkpoint_from(restore));
    common.restores.push_back(std::move(decoded));
  }
  std::vector<WantedTask> tasks;
  for (const proto::WantedTask& task : message.tasks()) {
    TRY_ASSIGN(WantedTask decoded, wanted_task_from(task, common));
    tasks.push_back(std::move(decoded));
  }
  return tasks;
}

}  // namespace

proto::AgentReport to_proto(const AgentReport& report) {
  proto::AgentReport message;
  message.set_agent(report.agent.text);
  message.set_instance(report.instance);
  message.set_epoch(report.epoch);
  message.set_number(report.number);
  message.set_generation(report.generation);
  message.set_leaving(report.leaving);
  *message.mutable_host() = to_proto(report.host);
  for (const TaskReport& task : report.tasks) *message.add_tasks() = to_proto(task);
  for (const GpuReading& gpu : report.gpus) *message.add_gpus() = to_proto(gpu);
  return message;
}

Result<AgentReport> from_proto(const proto::AgentReport& message) {
  AgentReport report;
  report.agent = AgentId{message.agent()};
  report.instance = message.instance();
  report.epoch = message.epoch();
  report.number = message.number();
  report.generation = message.generation();
  report.leaving = message.leaving();
  report.host = host_from(message.host());
  for (const proto::TaskReport& task : message.tasks()) {
    auto decoded = task_report_from(task);
    if (!decoded) {
      return invalid("tasks[" + std::to_string(report.tasks.size()) +
                     "]: " + decoded.error().message);
    }
    report.tasks.push_back(*std::move(decoded));
  }
  for (const proto::GpuReading& gpu : message.gpus()) report.gpus.push_back(reading_from(gpu));
  TRY(check_report(report));
  return report;
}

proto::Assignment to_proto(const Assignment& assignment) {
  proto::Assignment message;
  message.set_agent(assignment.agent.text);
  message.set_instance(assignment.instance);
  message.set_epoch(assignment.epoch);
  message.set_generation(assignment.generation);
  message.set_answers(assignment.answers);
  message.set_stop_after_millis(assignment.stop_after.count);
  CommonParts common(message);
  for (const WantedTask& task : assignment.tasks) *message.add_tasks() = to_proto(task, common);
  return message;
}

Result<Assignment> from_proto(const proto::Assignment& message) {
  Assignment assignment;
  TRY(check_id("agent name", message.agent()));
  assignment.agent = AgentId{message.agent()};
  TRY(check_instance(message.instance()));
  assignment.instance = message.instance();
  TRY(check_at_least("epoch", 0, message.epoch()));
  assignment.epoch = message.epoch();
  TRY(check_at_least("generation", 0, message.generation()));
  assignment.generation = message.generation();
  assignment.answers = message.answers();
  TRY(check_at_least("stop_after_millis", 1, message.stop_after_millis()));
  assignment.stop_after = {message.stop_after_millis()};
  TRY_ASSIGN(assignment.tasks, wanted_tasks_from(message));
  return assignment;
}

std::string to_bytes(const WantedTask& task) {
  proto::Assignment message;
  CommonParts common(message);
  *message.add_tasks() = to_proto(task, common);
  return message.SerializeAsString();
}

Result<WantedTask> wanted_task_from_bytes(const std::string& bytes) {
  proto::Assignment message;
  if (!message.ParseFromString(bytes)) return invalid("these bytes are no task");
  TRY_ASSIGN(std::vector<WantedTask> tasks, wanted_tasks_from(message));
  if (tasks.size() != 1) return invalid("these bytes are not of one task");
  return std::move(tasks.front());
}

proto::TaskKey to_proto(const TaskKey& key) {
  proto::TaskKey message;
  message.set_job(key.job.text);
  message.set_attempt(key.attempt);
  message.set_role(std::string(name_of(key.role)));
  message.set_index(key.index);
  return message;
}

Result<TaskKey> from_proto(const proto::TaskKey& message) {
  TRY(check_id("job of a task", message.job()));
  const auto role = role_from(message.role());
  if (!role) return invalid("unknown role \"" + message.role() + "\"");
  TRY(check_at_least("attempt", 1, message.attempt()));
  TRY(check_at_least("index", 0, message.index()));
  return TaskKey{JobId{message.job()}, message.attempt(), *role, message.index()};
}

proto::ArtifactFile to_proto(const ArtifactFile& file) {
  proto::ArtifactFile message;
  message.set_name(file.name);
  message.set_bytes(file.bytes);
  message.set_sha256(file.sha256);
  return message;
}

Result<ArtifactFile> from_proto(const proto::ArtifactFile& message) {
  ArtifactFile file{message.name(), message.bytes(), message.sha256()};
  TRY(check_artifact(file));
  return file;
}

}  // namespace trainyard
