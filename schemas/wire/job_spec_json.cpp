#include "schemas/wire/job_spec_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "schemas/model/outline.h"
#include "schemas/wire/job_spec_fields.h"
#include "schemas/wire/model_json.h"
#include "schemas/wire/spec_names.h"

namespace trainyard {
namespace {

using nlohmann::json;

json role_to_json(const RoleSpec& role) {
  json object = {{"replicas", role.replicas},
                 {"resources",
                  {{"cpus", role.resources.cpus},
                   {"memory_mb", role.resources.memory_mb},
                   {"gpus", role.resources.gpus}}},
                 {"placement", find_name(placement_names, role.placement)}};
  if (role.min_replicas) object["min_replicas"] = *role.min_replicas;
  // Only where they ask for something, so that hashes of before there was a choice stay.
  if (!role.gpu.name.empty()) object["resources"]["gpu_name"] = role.gpu.name;
  if (role.gpu.memory_mb > 0) object["resources"]["gpu_memory_mb"] = role.gpu.memory_mb;
  return object;
}

json or_null(const std::optional<std::int64_t>& number) {
  return number ? json(*number) : json(nullptr);
}

json schedule_to_json(const ScheduleSpec& schedule) {
  json object = {{"name", find_name(schedule_names, schedule.name)},
                 {"warmup_steps", schedule.warmup_steps}};
  if (schedule.name == ScheduleName::step) {
    object["step_size"] = schedule.step_size;
    object["gamma"] = schedule.gamma;
  }
  if (schedule.name == ScheduleName::cosine) object["final_fraction"] = schedule.final_fraction;
  return object;
}

// `decay` and `clip_norm` only where they say something, so that specs and hashes of before there
// was a choice stay.
json optimizer_to_json(const OptimizerSpec& optimizer) {
  const OptimizerName name = optimizer.name;
  json object = {{"name", find_name(optimizer_names, name)},
                 {"learning_rate", optimizer.learning_rate},
                 {"weight_decay", optimizer.weight_decay},
                 {"schedule", schedule_to_json(optimizer.schedule)}};
  if (optimizer.decay != DecayedVariables::all) {
    object["decay"] = find_name(decayed_variables_names, optimizer.decay);
  }
  if (optimizer.clip_norm > 0) object["clip_norm"] = optimizer.clip_norm;
  if (uses_momentum(name)) object["momentum"] = optimizer.momentum;
  if (uses_rho(name)) object["rho"] = optimizer.rho;
  if (uses_betas(name)) object["beta1"] = optimizer.beta1;
  if (uses_betas(name)) object["beta2"] = optimizer.beta2;
  if (uses_epsilon(name)) object["epsilon"] = optimizer.epsilon;
  return object;
}

// The word where one says it, so that specs and hashes of before there was another form stay.
json wire_to_json(const WireSpec& wire) {
  if (const auto word = word_of(wire)) return find_name(wire_names, *word);
  return {{"push", find_name(wire_names, wire.push)}, {"pull", find_name(wire_names, wire.pull)}};
}

json training_to_json(const TrainingSpec& training) {
  json object = {
      {"strategy", find_name(strategy_names, training.strategy)},
      {"wire", wire_to_json(training.wire)},
      {"partitioning", find_name(partitioning_names, training.partitioning)},
      {"epochs", or_null(training.epochs)},
      {"max_steps", or_null(training.max_steps)},
      {"optimizer", optimizer_to_json(training.optimizer)},
      {"seed", training.seed},
      {"deterministic", training.deterministic},
      {"replicas_to_aggregate", training.replicas_to_aggregate},
      {"max_staleness", or_null(training.max_staleness)},
      {"staleness_scaling", find_name(staleness_scaling_names, training.staleness_scaling)},
      {"report_every_steps", training.report_every_steps},
      {"evaluate_every_steps", training.evaluate_every_steps}};
  if (training.device) object["device"] = find_name(device_names, *training.device);
  if (training.precision != Precision::float32) {
    object["precision"] = find_name(precision_names, training.precision);
  }
  if (training.global_batch_size) {
    object["global_batch_size"] = *training.global_batch_size;
    object["micro_batch_size"] = training.micro_batch_size.value_or(training.batch_size);
  } else {
    object["batch_size"] = training.batch_size;
  }
  return object;
}

json roles_to_json(const JobSpec& spec) {
  json roles = json::object();
  if (spec.ps.replicas > 0) roles["ps"] = role_to_json(spec.ps);
  if (spec.worker.replicas > 0) roles["worker"] = role_to_json(spec.worker);
  if (spec.chief) roles["chief"] = role_to_json(*spec.chief);
  if (spec.evaluator) roles["evaluator"] = role_to_json(*spec.evaluator);
  return roles;
}

json scheduling_to_json(const SchedulingSpec& scheduling) {
  return {{"priority", scheduling.priority},
          {"preemptible", scheduling.preemptible},
          {"max_queued_seconds", or_null(scheduling.max_queued_seconds)},
          {"host_labels", scheduling.host_labels}};
}

json run_policy_to_json(const RunPolicySpec& policy) {
  return {{"max_run_seconds", or_null(policy.max_run_seconds)},
          {"no_progress_timeout_seconds", policy.no_progress_timeout_seconds},
          {"grace_period_seconds", policy.grace_period_seconds},
          {"save_seconds", policy.save_seconds},
          {"max_restarts", policy.max_restarts},
          {"backoff",
           {{"initial_seconds", policy.backoff.initial_seconds},
            {"multiplier", policy.backoff.multiplier},
            {"max_seconds", policy.backoff.max_seconds}}}};
}

json checkpoint_to_json(const CheckpointSpec& checkpoint) {
  return {{"every_steps", checkpoint.every_steps}, {"every_seconds", checkpoint.every_seconds},
          {"keep_latest", checkpoint.keep_latest}, {"keep_best", checkpoint.keep_best},
          {"metric", checkpoint.metric},           {"resume_from", checkpoint.resume_from}};
}

}  // namespace

std::optional<JobSpec> read_job_spec(const JsonPlace& place, Source source) {
  const std::size_t faults_before = place.faults.size();
  JobSpec spec;
  Fields fields(place);
  if (const auto part = fields.require("model")) spec.model = read_model(*part);
  if (const auto part = fields.require("dataset")) spec.dataset = read_dataset(*part);
  spec.name = model::name_of(spec.model) + "-" + spec.dataset.name;
  fields.text("name", spec.name, printable_rule(1, 200));
  if (const auto part = fields.find("labels")) spec.labels = read_text_map(*part, labels_rule);
  fields.choice("mode", spec.mode, mode_names);

  const auto training = fields.find("training");
  spec.training = training ? read_training(*training) : default_training();
  const auto roles = fields.find("roles");
  Roles read =
      roles ? read_roles(*roles, spec.training.strategy) : default_roles(spec.training.strategy);
  spec.ps = read.ps;
  spec.worker = read.worker;
  spec.chief = read.chief;
  std::int64_t& aggregated = spec.training.replicas_to_aggregate;
  if (aggregated == 0) aggregated = training_replicas(spec);

  if (const auto part = fields.find("scheduling")) spec.scheduling = read_scheduling(*part);
  if (const auto part = fields.find("run_policy")) spec.run_policy = read_run_policy(*part);
  if (const auto part = fields.find("checkpoint")) spec.checkpoint = read_checkpoint(*part);
  if (const auto part = fields.find("env")) spec.env = read_environment(*part);
  fields.refuse_others();
  check_rules(spec, place, source);
  // What is so anyway is not kept: the spec and its hash are the same without it.
  const bool has_gpus =
      spec.worker.resources.gpus > 0 || (spec.chief && spec.chief->resources.gpus > 0);
  const auto usual = has_gpus ? ComputeDevice::gpu : ComputeDevice::cpu;
  if (spec.training.device == usual) spec.training.device.reset();
  if (place.faults.size() > faults_before) return std::nullopt;
  return spec;
}

namespace {

ParsedJobSpec parse(std::string_view text, Source source) {
  const ParsedJson parsed = parse_json_text(text);
  if (const auto* not_json = std::get_if<NotJson>(&parsed)) return *not_json;
  const auto& document = std::get<JsonDocument>(parsed);
  if (document.is_cut) return document.faults;

  std::vector<Fault> faults = document.faults;
  auto spec = read_job_spec({document.value, "", faults}, source);
  if (spec && faults.empty()) return *std::move(spec);
  // Nothing more is said of a value that the text's own faults are about.
  const auto is_left_out = [&document](const Fault& fault) {
    return std::ranges::any_of(document.left_out, [&fault](const std::string& pointer) {
      return is_within(fault.pointer, pointer);
    });
  };
  faults.erase(
      std::remove_if(faults.begin() + std::ssize(document.faults), faults.end(), is_left_out),
      faults.end());
  return faults;
}

}  // namespace

ParsedJobSpec parse_job_spec(std::string_view text) { return parse(text, Source::submitted); }

ParsedJobSpec parse_stored_job_spec(std::string_view text) { return parse(text, Source::stored); }

json to_json_value(const JobSpec& spec) {
  return {{"name", spec.name},
          {"labels", spec.labels},
          {"model", json(model::model_to_json(spec.model))},
          {"dataset", dataset_to_json(spec.dataset)},
          {"mode", find_name(mode_names, spec.mode)},
          {"training", training_to_json(spec.training)},
          {"roles", roles_to_json(spec)},
          {"scheduling", scheduling_to_json(spec.scheduling)},
          {"run_policy", run_policy_to_json(spec.run_policy)},
          {"checkpoint", checkpoint_to_json(spec.checkpoint)},
          {"env", spec.env}};
}

std::string to_json(const JobSpec& spec) { return to_text(to_json_value(spec)); }

}  // namespace trainyard
