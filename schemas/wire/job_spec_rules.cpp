// The rules of the job spec that read several fields, or that came later than specs which are
// stored. Each names what it reads and is skipped where a fault was noted there, so that none
// computes with a value that was refused. Reading single fields is in *_spec_json.
#include <algorithm>
#include <array>
#include <span>

#include "schemas/base/near_name.h"
#include "schemas/model/data_time.h"
#include "schemas/model/trainable.h"
#include "schemas/types/env_names.h"
#include "schemas/wire/job_model.h"
#include "schemas/wire/job_spec_fields.h"
#include "schemas/wire/spec_names.h"
#include "schemas/wire/worker_gpu_rules.h"

namespace trainyard {
namespace {

using nlohmann::json;

constexpr std::string_view clip_norm = "/training/optimizer/clip_norm";

void note(const JsonPlace& place, std::string_view pointer, std::string message) {
  place.faults.push_back({place.pointer + std::string(pointer), std::move(message)});
}

// One that is measured, so that there is a best checkpoint.
void check_metric(const JobSpec& spec, const model::Analysis& analysis, const JsonPlace& place) {
  std::vector<std::string> names{"loss", "test_loss"};
  for (const model::AnalysedTerm& metric : analysis.metrics) {
    const std::string name = metric_name(metric);
    if (metric.op != "auc") names.push_back(name);  // which is of the test split alone
    names.push_back("test_" + name);
  }
  std::string known;
  for (const std::string& name : names) {
    if (spec.checkpoint.metric == name) return;
    known += (known.empty() ? "" : ", ") + name;
  }
  note(place, "/checkpoint/metric",
       "must be one that is measured: " + known + "; got " +
           describe(json(spec.checkpoint.metric)) +
           did_you_mean(spec.checkpoint.metric, {names.begin(), names.end()}));
}

// Rows of a table have no gradient that is all in one place.
void check_clipped_variables(const JobSpec& spec, const model::Analysis& analysis,
                             const JsonPlace& place) {
  const bool has_rows =
      std::ranges::any_of(analysis.variables, [](const model::Variable& variable) {
        return variable.role == model::VariableRole::row_table;
      });
  if (spec.training.optimizer.clip_norm == 0 || !has_rows) return;
  place.faults.push_back({place.pointer + std::string(clip_norm),
                          "clip_norm with a table of rows in the model is not in this version yet",
                          FaultKind::not_yet});
}

// What the layers are on this data set, and the memory that they need. Where something is wrong
// with the rest of the job, nothing is said of what follows from that.
void check_model(const JobSpec& spec, const JsonPlace& place) {
  const model::Analysis analysis = analyse_job(spec);
  const bool is_rest_right = std::ranges::none_of(place.faults, [&place](const Fault& fault) {
    return is_within(fault.pointer, place.pointer + "/training") ||
           is_within(fault.pointer, place.pointer + "/roles");
  });
  std::vector<Fault> found = analysis.faults.empty()
                                 ? model::not_trainable_yet(spec.model, analysis, "/model")
                                 : analysis.faults;
  const bool is_model_right = std::ranges::none_of(
      found, [](const Fault& fault) { return is_within(fault.pointer, "/model"); });
  if (is_model_right) check_metric(spec, analysis, place);
  if (is_model_right) check_clipped_variables(spec, analysis, place);
  if (is_model_right && is_rest_right) check_several_gpus(spec, analysis, place);
  if (found.empty() && spec.dataset.sequence.buckets.size() > 1) {
    found = model::faults_of_buckets(analysis, "/dataset/buckets");
  }
  for (const Fault& fault : found) {
    const bool is_of_rest =
        !is_within(fault.pointer, "/model") && !is_within(fault.pointer, "/dataset");
    if (!is_rest_right && is_of_rest) continue;
    place.faults.push_back({place.pointer + fault.pointer, fault.message, fault.kind});
  }
}

// How many of each role a strategy needs.
void check_roles(const JobSpec& spec, const JsonPlace& place) {
  const std::string ps = std::to_string(spec.ps.replicas);
  switch (spec.training.strategy) {
    case Strategy::parameter_server:
      if (spec.ps.replicas < 1) {
        note(place, "/roles/ps", "must be 1 or more with strategy parameter_server, got " + ps);
      }
      break;
    case Strategy::all_reduce:
      if (spec.ps.replicas > 0) {
        note(place, "/roles/ps", "must be absent or 0 with strategy all_reduce, got " + ps);
      }
      break;
    case Strategy::local:
      if (spec.ps.replicas > 0) {
        note(place, "/roles/ps", "must be absent or 0 with strategy local, got " + ps);
      }
      if (spec.chief) note(place, "/roles/chief", "must be absent or 0 with strategy local");
      if (training_replicas(spec) > 1) {
        note(place, "/roles/worker", "must be 1 with strategy local");
      }
      break;
  }
}

void check_that_somebody_trains(const JobSpec& spec, const JsonPlace& place) {
  if (training_replicas(spec) >= 1) return;
  note(place, "/roles/worker", "must be 1 or more where there is no chief");
}

void check_mode(const JobSpec& spec, const JsonPlace& place) {
  if (spec.training.strategy != Strategy::all_reduce || spec.mode != Mode::async) return;
  note(place, "/mode", "must be sync with strategy all_reduce");
}

void check_aggregate(const JobSpec& spec, const JsonPlace& place) {
  const std::int64_t trainers = training_replicas(spec);
  if (spec.training.replicas_to_aggregate <= trainers) return;
  note(place, "/training/replicas_to_aggregate",
       "must be at most the number of workers, " + std::to_string(trainers) + ", got " +
           std::to_string(spec.training.replicas_to_aggregate));
}

// Steps of fewer contributions than there are workers do not go together with everything.
void check_backup_workers(const JobSpec& spec, const JsonPlace& place) {
  const TrainingSpec& training = spec.training;
  if (training.replicas_to_aggregate >= training_replicas(spec)) return;
  const auto fault = [&](const std::string& why) {
    note(place, "/training/replicas_to_aggregate",
         "must be the number of workers, " + std::to_string(training_replicas(spec)) + ", " + why +
             ", got " + std::to_string(training.replicas_to_aggregate));
  };
  if (spec.mode == Mode::async) fault("with mode async, where every push is a step of its own");
  if (training.strategy == Strategy::all_reduce) {
    fault("with strategy all_reduce, where each of them holds a share of the parameters");
  }
  if (training.global_batch_size) {
    fault("with global_batch_size, where a step is of all its micro-batches");
  }
  if (training.wire.push == Wire::onebit) {
    fault("with wire onebit, where what a gradient leaves out is counted on to come with the next");
  }
}

// The norm is that of one whole gradient.
void check_clip_norm(const JobSpec& spec, const JsonPlace& place) {
  const TrainingSpec& training = spec.training;
  if (training.optimizer.clip_norm == 0 || spec.mode == Mode::async) return;
  if (training.replicas_to_aggregate >= training_replicas(spec)) return;
  place.faults.push_back({place.pointer + std::string(clip_norm),
                          "clip_norm where fewer gradients than there are workers make a step is "
                          "not in this version yet",
                          FaultKind::not_yet});
}

// A bound of staleness in sync mode would say nothing, nor would a factor.
void check_staleness(const JobSpec& spec, const JsonPlace& place) {
  if (spec.mode == Mode::async) return;
  if (spec.training.max_staleness) note(place, "/training/max_staleness", "needs mode async");
  if (spec.training.staleness_scaling != StalenessScaling::none) {
    note(place, "/training/staleness_scaling", "needs mode async");
  }
}

// Within one process nothing travels.
void check_wire(const JobSpec& spec, const JsonPlace& place) {
  if (spec.training.wire == WireSpec{} || spec.training.strategy != Strategy::local) return;
  note(place, "/training/wire",
       "must be float32 with strategy local, where no gradient travels, got " +
           wire_in_words(spec.training.wire));
}

// A step of equal micro-batches, in place of a batch for each worker.
void check_micro_batches(const JobSpec& spec, const JsonPlace& place) {
  constexpr std::int64_t leaves_max = 65'536;
  const auto& global = spec.training.global_batch_size;
  const auto& micro = spec.training.micro_batch_size;
  if (!global && !micro) return;
  if (spec.mode == Mode::async) {
    const char* needs_sync = "needs mode sync; async has batch_size, per worker";
    if (global) note(place, "/training/global_batch_size", needs_sync);
    if (micro) note(place, "/training/micro_batch_size", needs_sync);
    return;
  }
  if (place.value.contains(json::json_pointer("/training/batch_size"))) {
    note(place, "/training/batch_size",
         std::string("must be absent where ") +
             (global ? "global_batch_size" : "micro_batch_size") + " is given");
  }
  if (!micro) {
    return note(place, "/training/global_batch_size", "needs micro_batch_size beside it");
  }
  if (!global) {
    return note(place, "/training/micro_batch_size", "needs global_batch_size beside it");
  }
  if (*micro > *global) {
    note(place, "/training/micro_batch_size",
         "must be at most global_batch_size, " + std::to_string(*global) + ", got " +
             std::to_string(*micro));
  } else if (*global % *micro != 0) {
    note(place, "/training/global_batch_size",
         "must be a multiple of micro_batch_size, " + std::to_string(*micro) + ", got " +
             std::to_string(*global));
  } else if (*global / *micro > leaves_max) {
    note(place, "/training/micro_batch_size",
         "must leave at most " + std::to_string(leaves_max) + " micro-batches in a step");
  }
}

// Micro-batches are shared out among the workers of a sync step.
void check_shares(const JobSpec& spec, const JsonPlace& place) {
  if (!spec.training.global_batch_size || !spec.training.micro_batch_size) return;
  const std::int64_t trainers = training_replicas(spec);
  const std::int64_t leaves = step_leaves(spec);
  if (leaves == 0 || leaves >= trainers) return;
  note(place, "/training/micro_batch_size",
       "leaves " + std::to_string(leaves) + (leaves == 1 ? " micro-batch" : " micro-batches") +
           " for " + std::to_string(trainers) + " workers: each needs one at least");
}

// With fewer workers the same must be computed.
void check_min_replicas(const JobSpec& spec, const JsonPlace& place) {
  if (!spec.worker.min_replicas) return;
  if (*spec.worker.min_replicas > spec.worker.replicas) {
    note(place, "/roles/worker/min_replicas",
         "must be at most the replicas, " + std::to_string(spec.worker.replicas) + ", got " +
             std::to_string(*spec.worker.min_replicas));
  }
  if (spec.mode == Mode::sync && !spec.training.global_batch_size) {
    note(place, "/roles/worker/min_replicas",
         "needs training.global_batch_size in mode sync: with batch_size, which is per worker, "
         "fewer workers would make another step");
  }
}

// What is made already cannot be made undone.
void check_resumed_step(const JobSpec& spec, const JsonPlace& place) {
  const auto step = step_named_by(spec.checkpoint.resume_from);
  if (!step || !spec.training.max_steps || *step <= *spec.training.max_steps) return;
  note(place, "/training/max_steps",
       "must be at least " + std::to_string(*step) + ", the step of checkpoint.resume_from, got " +
           std::to_string(*spec.training.max_steps));
}

// What agents may allow besides, the scheduler knows.
void check_environment(const JobSpec& spec, const JsonPlace& place) {
  for (const auto& [name, value] : spec.env) {
    if (!is_env_never_allowed(name)) continue;
    note(place, child_pointer("/env", name),
         "must not be set: the agent sets it, or it would change which code a task runs; there "
         "are " +
             std::string(env_allowed_in_words));
  }
}

void check_device(const JobSpec& spec, const JsonPlace& place) {
  const bool has_gpus =
      spec.worker.resources.gpus > 0 || (spec.chief && spec.chief->resources.gpus > 0);
  if (spec.training.device != ComputeDevice::gpu || has_gpus) return;
  note(place, "/training/device",
       "is gpu, but no worker has one: set resources.gpus of the role worker");
}

// A CPU would compute other bytes.
void check_precision(const JobSpec& spec, const JsonPlace& place) {
  if (spec.training.precision == Precision::float32) return;
  std::string missing;
  const auto need = [&missing](const std::string& what) {
    missing += (missing.empty() ? "" : ", ") + what;
  };
  if (spec.worker.replicas > 0 && spec.worker.resources.gpus == 0) {
    need("set roles.worker.resources.gpus");
  }
  if (spec.chief && spec.chief->resources.gpus == 0) need("set roles.chief.resources.gpus");
  const ComputeDevice device = spec.training.device.value_or(ComputeDevice::gpu);
  if (device != ComputeDevice::gpu) {
    need("training.device must be gpu, which it is by default, got " +
         std::string(find_name(device_names, device)));
  }
  if (missing.empty()) return;
  note(place, "/training/precision",
       std::string(find_name(precision_names, spec.training.precision)) +
           " needs GPUs, as a CPU computes in float32 only: " + missing);
}

struct Rule {
  void (*check)(const JobSpec& spec, const JsonPlace& place);
  // All fields whose values it uses; "" is none.
  std::array<std::string_view, 8> reads{};
};

constexpr std::string_view strategy = "/training/strategy";
constexpr std::string_view wire = "/training/wire";
constexpr std::string_view aggregate = "/training/replicas_to_aggregate";
constexpr std::string_view global_batch = "/training/global_batch_size";
constexpr std::string_view micro_batch = "/training/micro_batch_size";
constexpr std::string_view ps = "/roles/ps/replicas";
constexpr std::string_view workers = "/roles/worker/replicas";
constexpr std::string_view chiefs = "/roles/chief/replicas";

constexpr Rule rules[] = {
    {check_roles, {strategy, ps, workers, chiefs}},
    {check_that_somebody_trains, {workers, chiefs}},
    {check_mode, {strategy, "/mode"}},
    {check_aggregate, {aggregate, workers, chiefs}},
    {check_backup_workers, {aggregate, workers, chiefs, "/mode", strategy, global_batch, wire}},
    {check_clip_norm, {clip_norm, aggregate, workers, chiefs, "/mode"}},
    {check_staleness, {"/mode", "/training/max_staleness", "/training/staleness_scaling"}},
    {check_wire, {wire, strategy}},
    {check_device, {"/training/device", "/roles/worker/resources", "/roles/chief/resources"}},
    {check_precision,
     {"/training/precision", "/training/device", workers, "/roles/worker/resources", chiefs,
      "/roles/chief/resources"}},
    {check_micro_batches, {"/mode", global_batch, micro_batch}},
    {check_shares, {"/mode", global_batch, micro_batch, workers, chiefs}},
    {check_min_replicas, {"/roles/worker/min_replicas", workers, "/mode", global_batch}},
    {check_resumed_step, {"/checkpoint/resume_from", "/training/max_steps"}},
};
constexpr Rule later_rules[] = {
    {check_model, {"/model", "/dataset", "/checkpoint/metric"}},
    {check_several_gpus, {"/training/device", "/mode", aggregate, "/roles/worker", "/roles/chief"}},
    {check_gpu_shares,
     {"/training/batch_size", global_batch, micro_batch, "/mode", aggregate, "/roles/worker",
      "/roles/chief"}},
    {check_environment},  // name by name: those that are none are not among these
};

// Whether what the rule reads is as it was given: nothing in it was refused, nor what it is in.
bool may_read(const Rule& rule, const JsonPlace& place, std::span<const Fault> faults) {
  return std::ranges::none_of(rule.reads, [&](std::string_view field) {
    if (field.empty()) return false;
    const std::string read = place.pointer + std::string(field);
    return std::ranges::any_of(faults, [&read](const Fault& fault) {
      return fault.kind == FaultKind::wrong &&
             (is_within(read, fault.pointer) || is_within(fault.pointer, read));
    });
  });
}

}  // namespace

void check_rules(const JobSpec& spec, const JsonPlace& place, Source source) {
  // What a rule finds does not keep others from being heard: all values are good by themselves.
  const std::vector<Fault> of_fields = place.faults;
  const auto apply = [&](std::span<const Rule> some) {
    for (const Rule& rule : some) {
      if (may_read(rule, place, of_fields)) rule.check(spec, place);
    }
  };
  apply(rules);
  if (source == Source::submitted) apply(later_rules);
}

}  // namespace trainyard
