#include "schemas/wire/task_json.h"

#include <limits>
#include <utility>

#include "schemas/wire/artifact_json.h"
#include "schemas/wire/job_spec_fields.h"
#include "schemas/wire/job_spec_json.h"
#include "schemas/wire/product_rates_json.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::int64_t step_number_max = std::numeric_limits<std::int64_t>::max();
constexpr TextRule path_rule = printable_rule(0, 4096);

std::vector<std::string> read_addresses(const JsonPlace& place) {
  std::vector<std::string> addresses;
  if (!place.value.is_array()) {
    place.fault("must be an array of \"host:port\", got " + describe(place.value));
    return addresses;
  }
  for (const json& address : place.value) {
    const JsonPlace item{address, child_pointer(place.pointer, std::to_string(addresses.size())),
                         place.faults};
    addresses.push_back(read_text(item, printable_rule(1, 300)).value_or(""));
  }
  return addresses;
}

ClusterSpec read_cluster(const JsonPlace& place) {
  ClusterSpec cluster;
  Fields fields(place);
  if (const auto part = fields.find("ps")) cluster.ps = read_addresses(*part);
  if (const auto part = fields.find("worker")) cluster.worker = read_addresses(*part);
  if (const auto part = fields.find("chief")) cluster.chief = read_addresses(*part);
  if (const auto part = fields.find("evaluator")) cluster.evaluator = read_addresses(*part);
  fields.refuse_others();
  return cluster;
}

DataCacheSpec read_data_cache(const JsonPlace& place) {
  DataCacheSpec cache;
  Fields fields(place, Absence::is_a_fault);
  fields.text("folder", cache.folder, path_rule);
  fields.integer("bytes_max", cache.bytes_max, {0, step_number_max});
  fields.refuse_others();
  return cache;
}

RestoreFrom read_restore(const JsonPlace& place) {
  RestoreFrom restore;
  Fields fields(place, Absence::is_a_fault);
  fields.text("folder", restore.folder, path_rule);
  fields.integer("step", restore.step, {0, step_number_max});
  if (const auto part = fields.find("manifest")) restore.manifest = read_artifact(*part);
  if (const auto part = fields.find("shards")) restore.shards = read_artifacts(*part);
  fields.refuse_others();
  return restore;
}

void read_role_name(const JsonPlace& place, Role& out) {
  const auto* text = place.value.get_ptr<const std::string*>();
  if (const auto role = text != nullptr ? role_from(*text) : std::nullopt) {
    out = *role;
  } else {
    place.fault("must be one of ps, worker, chief, evaluator, got " + describe(place.value));
  }
}

void read_key(Fields& fields, TaskKey& key) {
  key = {JobId{"by-hand"}, 1, Role::worker, 0};
  fields.text("job", key.job.text, name_rule(id_length_max));
  fields.integer("attempt", key.attempt, {1, step_number_max});
  if (const auto role = fields.require("role")) read_role_name(*role, key.role);
  if (fields.require("index")) fields.integer("index", key.index, {0, 100'000});
}

std::int64_t replicas_of(const JobSpec& spec, Role role) {
  switch (role) {
    case Role::ps: return spec.ps.replicas;
    case Role::worker: return spec.worker.replicas;
    case Role::chief: return spec.chief ? spec.chief->replicas : 0;
    case Role::evaluator: return spec.evaluator ? spec.evaluator->replicas : 0;
  }
  return 0;
}

json cluster_to_json(const ClusterSpec& cluster) {
  return {{"ps", cluster.ps},
          {"worker", cluster.worker},
          {"chief", cluster.chief},
          {"evaluator", cluster.evaluator}};
}

json restore_to_json(const RestoreFrom& restore) {
  return {{"folder", restore.folder},
          {"step", restore.step},
          {"manifest", artifact_to_json(restore.manifest)},
          {"shards", artifacts_to_json(restore.shards)}};
}

}  // namespace

Result<TaskContext> parse_task_context(std::string_view text) {
  TRY_ASSIGN(const json value, parse_json(text, "task.json"));

  std::vector<Fault> faults;
  TaskContext context;
  Fields fields({value, "", faults});
  read_key(fields, context.key);
  fields.text("token", context.token, printable_rule(0, 300));
  fields.text("spec_hash", context.spec_hash, printable_rule(0, 64));
  if (const auto part = fields.require("spec")) {
    if (auto spec = read_job_spec(*part, Source::stored)) context.spec = *std::move(spec);
  }
  if (const auto part = fields.require("cluster")) context.cluster = read_cluster(*part);
  fields.text("listen", context.listen, printable_rule(0, 300));
  std::int64_t rows_port = 0;
  fields.integer("rows_port", rows_port, {0, 65'535});
  context.rows_port = static_cast<int>(rows_port);
  fields.text("folder", context.folder, path_rule);
  if (const auto part = fields.find("restore"); part && !part->value.is_null()) {
    context.restore = read_restore(*part);
  }
  fields.boolean("keep_files", context.keep_files);
  fields.boolean("tasks_return", context.tasks_return);
  if (const auto part = fields.find("data_cache")) context.data_cache = read_data_cache(*part);
  if (const auto part = fields.find("gpu_product_tflops")) {
    context.gpu_product_rates = read_product_rates(*part);
  }
  fields.refuse_others();
  if (!faults.empty()) return to_error("task.json", faults);
  TRY(check_task_context(context));
  return context;
}

Status check_task_context(const TaskContext& context) {
  std::vector<Fault> faults;
  if (!is_id(context.key.job.text)) {
    faults.push_back({"/job", "must begin with a letter or digit"});
  }
  const std::int64_t replicas = replicas_of(context.spec, context.key.role);
  if (context.key.index >= replicas) {
    faults.push_back({"/index", "must be below the replicas of the role, " +
                                    std::to_string(replicas) + ", got " +
                                    std::to_string(context.key.index)});
  }
  if (std::cmp_not_equal(context.cluster.ps.size(), context.spec.ps.replicas)) {
    faults.push_back({"/cluster/ps", "must name as many as the spec has, " +
                                         std::to_string(context.spec.ps.replicas) + ", got " +
                                         std::to_string(context.cluster.ps.size())});
  }
  // They hold the parameters of one another.
  const auto trainers = context.cluster.worker.size() + context.cluster.chief.size();
  if (context.spec.training.strategy == Strategy::all_reduce &&
      std::cmp_not_equal(trainers, training_replicas(context.spec))) {
    faults.push_back({"/cluster/worker", "must name, with the chief, as many as train, " +
                                             std::to_string(training_replicas(context.spec)) +
                                             ", got " + std::to_string(trainers)});
  }
  if (context.key.role == Role::ps && context.listen.empty()) {
    faults.push_back({"/listen", "is required for a ps"});
  }
  if (!faults.empty()) return to_error("task.json", faults);
  return ok();
}

std::string to_json(const TaskContext& context) {
  json value = {
      {"job", context.key.job.text},
      {"attempt", context.key.attempt},
      {"role", name_of(context.key.role)},
      {"index", context.key.index},
      {"token", context.token},
      {"spec_hash", context.spec_hash},
      {"spec", to_json_value(context.spec)},
      {"cluster", cluster_to_json(context.cluster)},
      {"listen", context.listen},
      {"rows_port", context.rows_port},
      {"folder", context.folder},
      {"restore", context.restore ? restore_to_json(*context.restore) : json(nullptr)},
      {"keep_files", context.keep_files},
      {"tasks_return", context.tasks_return},
      {"data_cache",
       {{"folder", context.data_cache.folder}, {"bytes_max", context.data_cache.bytes_max}}}};
  // An agent may be told to run an older runtime, which knows no such field.
  if (!context.gpu_product_rates.empty()) {
    value["gpu_product_tflops"] = product_rates_to_json(context.gpu_product_rates);
  }
  return to_text(value);
}

}  // namespace trainyard
