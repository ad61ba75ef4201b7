// The parts of the job spec about where and how its tasks run: roles, scheduling, run_policy,
// checkpoint, env.
#include <algorithm>
#include <charconv>

#include "schemas/types/env_names.h"
#include "schemas/wire/job_spec_fields.h"
#include "schemas/wire/spec_names.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::int64_t replicas_max = 1000;
constexpr std::size_t gpu_name_max = 96;  // as long as a driver's names
// All tasks of a job are told of it, and a host of all its jobs at once (assigned_jobs_bytes_max).
constexpr std::size_t environment_bytes_max = 64 << 10;

RoleSpec default_ps() { return {1, {1, 1024, 0}, PlacementPolicy::spread}; }
RoleSpec default_worker() { return {1, {1, 2048, 0}, PlacementPolicy::pack}; }

// A gang with fewer of these is another gang, or none.
void refuse_min_replicas(const JsonPlace& place, const RoleSpec& role) {
  if (!role.min_replicas) return;
  place.faults.push_back({child_pointer(place.pointer, "min_replicas"), "is for workers only"});
}

RoleSpec with_replicas(RoleSpec role, std::int64_t replicas) {
  role.replicas = replicas;
  return role;
}

void read_gpu_wish(Fields& amounts, RoleSpec& role) {
  const auto name = amounts.find("gpu_name");
  const bool has_name = name && !name->value.is_null();
  if (has_name) {
    if (auto text = read_text(*name, printable_rule(1, gpu_name_max))) role.gpu.name = *text;
  }
  std::optional<std::int64_t> memory_mb;
  amounts.optional_integer("gpu_memory_mb", memory_mb, {1, 1'000'000'000});
  role.gpu.memory_mb = memory_mb.value_or(0);
  if (role.resources.gpus > 0) return;
  constexpr const char* needs_gpus = "needs gpus of 1 or more beside it";
  if (has_name) name->fault(needs_gpus);
  if (memory_mb) amounts.find("gpu_memory_mb")->fault(needs_gpus);
}

// `role`: the default, without replicas. No replicas: no such role, whatever else is said of it,
// but what is wrong in it is said all the same.
RoleSpec read_role(const JsonPlace& place, RoleSpec role) {
  Fields fields(place, "replicas");
  fields.require("replicas");
  fields.integer("replicas", role.replicas, {0, replicas_max});
  fields.optional_integer("min_replicas", role.min_replicas, {1, replicas_max});
  if (const auto resources = fields.find("resources")) {
    Fields amounts(*resources);
    amounts.integer("cpus", role.resources.cpus, {1, 4096});
    amounts.integer("memory_mb", role.resources.memory_mb, {1, 1'000'000'000});
    amounts.integer("gpus", role.resources.gpus, {0, 1024});
    read_gpu_wish(amounts, role);
    amounts.refuse_others();
  }
  fields.choice("placement", role.placement, placement_names);
  fields.refuse_others();
  return role.replicas == 0 ? RoleSpec{} : role;
}

BackoffSpec read_backoff(const JsonPlace& place) {
  BackoffSpec backoff;
  Fields fields(place);
  fields.integer("initial_seconds", backoff.initial_seconds, {0, 86'400});
  fields.number("multiplier", backoff.multiplier, {1, 100});
  fields.integer("max_seconds", backoff.max_seconds, {0, 86'400});
  fields.refuse_others();
  return backoff;
}

}  // namespace

Roles default_roles(Strategy strategy) {
  Roles roles;
  roles.worker = default_worker();
  if (strategy == Strategy::parameter_server) roles.ps = default_ps();
  return roles;
}

Roles read_roles(const JsonPlace& place, Strategy strategy) {
  Roles roles;
  Fields fields(place);
  if (const auto ps = fields.find("ps")) {
    roles.ps = read_role(*ps, with_replicas(default_ps(), 0));
    refuse_min_replicas(*ps, roles.ps);
  } else if (strategy == Strategy::parameter_server) {
    roles.ps = default_ps();
  }
  if (const auto worker = fields.find("worker")) {
    roles.worker = read_role(*worker, with_replicas(default_worker(), 0));
  }
  if (const auto chief = fields.find("chief")) {
    const RoleSpec role = read_role(*chief, with_replicas(default_worker(), 0));
    if (role.replicas > 1) chief->fault("there is at most one chief");
    refuse_min_replicas(*chief, role);
    if (role.replicas > 0) roles.chief = role;
  }
  if (const auto evaluator = fields.find("evaluator")) {
    if (read_role(*evaluator, with_replicas(default_worker(), 0)).replicas > 0) {
      evaluator->fault("the evaluator role is not available in this version yet",
                       FaultKind::not_yet);
    }
  }
  fields.refuse_others();
  const std::int64_t replicas =
      roles.ps.replicas + roles.worker.replicas + (roles.chief ? roles.chief->replicas : 0);
  if (replicas > replicas_max) {
    place.fault("must have at most " + std::to_string(replicas_max) + " replicas in all, got " +
                std::to_string(replicas));
  }
  return roles;
}

SchedulingSpec read_scheduling(const JsonPlace& place) {
  SchedulingSpec scheduling;
  Fields fields(place);
  fields.integer("priority", scheduling.priority, {0, 100});
  fields.boolean("preemptible", scheduling.preemptible);
  if (scheduling.preemptible) {
    place.faults.push_back({child_pointer(place.pointer, "preemptible"),
                            "preemption is not available in this version yet", FaultKind::not_yet});
  }
  fields.optional_integer("max_queued_seconds", scheduling.max_queued_seconds, {1, seconds_max});
  if (const auto labels = fields.find("host_labels")) {
    scheduling.host_labels = read_text_map(*labels, labels_rule);
  }
  fields.refuse_others();
  return scheduling;
}

RunPolicySpec read_run_policy(const JsonPlace& place) {
  RunPolicySpec policy;
  Fields fields(place);
  fields.optional_integer("max_run_seconds", policy.max_run_seconds, {1, seconds_max});
  fields.integer("no_progress_timeout_seconds", policy.no_progress_timeout_seconds,
                 {1, seconds_max});
  fields.integer("grace_period_seconds", policy.grace_period_seconds, {0, 3600});
  fields.integer("save_seconds", policy.save_seconds, {0, 86400});
  fields.integer("max_restarts", policy.max_restarts, {0, 1000});
  if (const auto backoff = fields.find("backoff")) policy.backoff = read_backoff(*backoff);
  fields.refuse_others();
  return policy;
}

std::optional<std::int64_t> step_named_by(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos || !is_id(text.substr(0, slash))) return std::nullopt;
  const std::string_view digits = text.substr(slash + 1);
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  const bool is_step =
      error == std::errc{} && end == digits.data() + digits.size() && step >= 0 && digits[0] != '-';
  return is_step ? std::optional(step) : std::nullopt;
}

namespace {

// "<job id>/<step>", "<job id>/latest", "<job id>/best".
bool names_another_job(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == text.npos || !is_id(text.substr(0, slash))) return false;
  const std::string_view which = text.substr(slash + 1);
  return which == "latest" || which == "best" || step_named_by(text);
}

}  // namespace

CheckpointSpec read_checkpoint(const JsonPlace& place) {
  CheckpointSpec checkpoint;
  Fields fields(place);
  fields.integer("every_steps", checkpoint.every_steps, {0, steps_max});
  fields.integer("every_seconds", checkpoint.every_seconds, {0, seconds_max});
  fields.integer("keep_latest", checkpoint.keep_latest, {1, 1000});
  fields.integer("keep_best", checkpoint.keep_best, {0, 1000});
  fields.text("metric", checkpoint.metric, name_rule(64));
  if (const auto from = fields.find("resume_from")) {
    const auto text = read_text(*from, printable_rule(1, 160));
    if (text && *text != "latest" && *text != "none" && !names_another_job(*text)) {
      from->fault(
          "must be latest, none, \"<job id>/<step>\", \"<job id>/latest\" or "
          "\"<job id>/best\", got " +
          describe(from->value));
    } else if (text) {
      checkpoint.resume_from = *text;
    }
  }
  fields.refuse_others();
  return checkpoint;
}

std::map<std::string, std::string> read_environment(const JsonPlace& place) {
  const TextRule any_key{0, 1'000'000, [](char) { return true; }, "any"};
  const TextRule no_zero{0, 32'768, [](char byte) { return byte != '\0'; }, "no zero bytes"};
  auto environment = read_text_map(place, {128, any_key, no_zero});
  std::size_t bytes = 0;
  for (const auto& [name, value] : environment) {
    const JsonPlace entry{place.value, child_pointer(place.pointer, name), place.faults};
    if (!is_env_name(name)) {
      entry.fault("the name must be 1 to 128 letters, digits and '_', not a digit first");
    }
    bytes += name.size() + value.size();
  }
  if (bytes > environment_bytes_max) {
    place.fault("must be at most " + std::to_string(environment_bytes_max) +
                " bytes of names and values in all, got " + std::to_string(bytes));
  }
  return environment;
}

}  // namespace trainyard
