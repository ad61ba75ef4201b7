#include "schemas/wire/job_spec_json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "schemas/wire/job_spec_fields.h"
#include "schemas/wire/spec_names.h"

namespace trainyard {
namespace {

using nlohmann::json;

// How many of each role a strategy needs.
void check_roles(const JobSpec& spec, const JsonPlace& place) {
  const auto fault = [&](const char* pointer, std::string message) {
    place.faults.push_back({place.pointer + pointer, std::move(message)});
  };
  const std::string ps = std::to_string(spec.ps.replicas);
  const std::int64_t trainers = training_replicas(spec);
  switch (spec.training.strategy) {
    case Strategy::parameter_server:
      if (spec.ps.replicas < 1) {
        fault("/roles/ps", "must be 1 or more with strategy parameter_server, got " + ps);
      }
      break;
    case Strategy::all_reduce:
      if (spec.ps.replicas > 0) {
        fault("/roles/ps", "must be absent or 0 with strategy all_reduce, got " + ps);
      }
      if (spec.mode == Mode::async) fault("/mode", "must be sync with strategy all_reduce");
      break;
    case Strategy::local:
      if (spec.ps.replicas > 0) {
        fault("/roles/ps", "must be absent or 0 with strategy local, got " + ps);
      }
      if (spec.chief) fault("/roles/chief", "must be absent or 0 with strategy local");
      if (trainers > 1) fault("/roles/worker", "must be 1 with strategy local");
      break;
  }
  if (trainers < 1) fault("/roles/worker", "must be 1 or more where there is no chief");
}

// Images of digits and libsvm data have classes; what a csv's labels are is known once it is read.
void check_model_and_data(const JobSpec& spec, const JsonPlace& place) {
  const std::string& model = spec.model.name;
  const std::string& format = spec.dataset.format;
  const auto fault = [&](std::string message) {
    place.faults.push_back({child_pointer(place.pointer, "model"), std::move(message)});
  };
  const bool sparse = format == "libsvm";
  if (model == "linear_regression" && (format == "synthetic_digits" || format == "idx" || sparse)) {
    fault("linear_regression needs real numbers as labels, but the data format " + format +
          " has classes");
  }
  if ((model == "softmax_regression" || model == "mlp") && sparse) {
    fault(model +
          " needs dense features, but the data format libsvm is sparse; use "
          "logistic_regression or wide_and_deep");
  }
  if (model == "wide_and_deep" && !format.empty() && !sparse) {
    fault("wide_and_deep needs sparse features, the data format libsvm; use mlp for " + format);
  }
  if (model == "logistic_regression" && format == "synthetic_digits") {
    fault("logistic_regression needs two classes, but synthetic_digits has ten");
  }
}

// Steps of fewer contributions than there are workers do not go together with everything.
void check_backup_workers(const JobSpec& spec, const JsonPlace& place) {
  const TrainingSpec& training = spec.training;
  const auto fault = [&](const std::string& why) {
    place.faults.push_back({place.pointer + "/training/replicas_to_aggregate",
                            "must be the number of workers, " +
                                std::to_string(training_replicas(spec)) + ", " + why + ", got " +
                                std::to_string(training.replicas_to_aggregate)});
  };
  if (spec.mode == Mode::async) fault("with mode async, where every push is a step of its own");
  if (training.strategy == Strategy::all_reduce) {
    fault("with strategy all_reduce, where each of them holds a share of the parameters");
  }
  if (training.global_batch_size) {
    fault("with global_batch_size, where a step is of all its micro-batches");
  }
  if (training.wire == Wire::onebit) {
    fault("with wire onebit, where what a gradient leaves out is counted on to come with the next");
  }
}

void settle_aggregate(JobSpec& spec, const JsonPlace& place) {
  std::int64_t& wanted = spec.training.replicas_to_aggregate;
  const std::int64_t trainers = training_replicas(spec);
  if (wanted == 0) {
    wanted = trainers;
  } else if (wanted > trainers) {
    place.faults.push_back({place.pointer + "/training/replicas_to_aggregate",
                            "must be at most the number of workers, " + std::to_string(trainers) +
                                ", got " + std::to_string(wanted)});
  } else if (wanted < trainers) {
    check_backup_workers(spec, place);
  }
}

// A bound of staleness in sync mode would say nothing, nor would a factor.
void check_staleness(const JobSpec& spec, const JsonPlace& place) {
  if (spec.mode == Mode::async) return;
  const auto refuse = [&place](const char* field) {
    place.faults.push_back({place.pointer + field, "needs mode async"});
  };
  if (spec.training.max_staleness) refuse("/training/max_staleness");
  if (spec.training.staleness_scaling != StalenessScaling::none) {
    refuse("/training/staleness_scaling");
  }
}

// Within one process nothing travels.
void check_wire(const JobSpec& spec, const JsonPlace& place) {
  if (spec.training.wire == Wire::float32 || spec.training.strategy != Strategy::local) return;
  place.faults.push_back({place.pointer + "/training/wire",
                          "must be float32 with strategy local, where no gradient travels, got " +
                              std::string(find_name(wire_names, spec.training.wire))});
}

// Micro-batches are shared out among the workers of a sync step.
void check_micro_batches(const JobSpec& spec, const JsonPlace& place) {
  if (!spec.training.global_batch_size || !spec.training.micro_batch_size) return;
  const auto fault = [&place](const char* pointer, std::string message) {
    place.faults.push_back({place.pointer + pointer, std::move(message)});
  };
  if (spec.mode == Mode::async) {
    fault("/training/global_batch_size", "needs mode sync; async has batch_size, per worker");
  }
  const std::int64_t trainers = training_replicas(spec);
  const std::int64_t leaves = step_leaves(spec);
  if (leaves > 0 && leaves < trainers) {
    fault("/training/micro_batch_size",
          "leaves " + std::to_string(leaves) + (leaves == 1 ? " micro-batch" : " micro-batches") +
              " for " + std::to_string(trainers) + " workers: each needs one at least");
  }
}

// With fewer workers the same must be computed.
void check_min_replicas(const JobSpec& spec, const JsonPlace& place) {
  if (!spec.worker.min_replicas) return;
  const auto fault = [&place](std::string message) {
    place.faults.push_back({place.pointer + "/roles/worker/min_replicas", std::move(message)});
  };
  if (*spec.worker.min_replicas > spec.worker.replicas) {
    fault("must be at most the replicas, " + std::to_string(spec.worker.replicas) + ", got " +
          std::to_string(*spec.worker.min_replicas));
  }
  if (spec.mode == Mode::sync && !spec.training.global_batch_size) {
    fault(
        "needs training.global_batch_size in mode sync: with batch_size, which is per worker, "
        "fewer workers would make another step");
  }
}

bool has_wrong(std::span<const Fault> faults) {
  return std::ranges::any_of(faults,
                             [](const Fault& fault) { return fault.kind == FaultKind::wrong; });
}

json role_to_json(const RoleSpec& role) {
  json object = {{"replicas", role.replicas},
                 {"resources",
                  {{"cpus", role.resources.cpus},
                   {"memory_mb", role.resources.memory_mb},
                   {"gpus", role.resources.gpus}}},
                 {"placement", find_name(placement_names, role.placement)}};
  if (role.min_replicas) object["min_replicas"] = *role.min_replicas;
  return object;
}

json or_null(const std::optional<std::int64_t>& number) {
  return number ? json(*number) : json(nullptr);
}

json model_to_json(const ModelSpec& model) {
  json weight_init = {{"name", find_name(initializer_names, model.initializer)}};
  if (uses_stddev(model.initializer)) weight_init["stddev"] = model.stddev;
  json object = {{"name", model.name}, {"weight_init", weight_init}};
  if (has_hidden_layers(model)) {
    object["hidden"] = model.hidden;
    object["activation"] = find_name(activation_names, model.activation);
  }
  if (model.name == "wide_and_deep") object["embedding_size"] = model.embedding_size;
  return object;
}

json dataset_to_json(const DatasetSpec& dataset) {
  json object = {{"name", dataset.name},
                 {"format", dataset.format},
                 {"train_examples", dataset.train_examples},
                 {"test_examples", dataset.test_examples}};
  if (dataset.format != "synthetic_digits") object["path"] = dataset.path;
  if (dataset.format == "csv") {
    object["label_column"] = dataset.label_column;
    object["test_fraction"] = dataset.test_fraction;
  }
  if (dataset.format == "libsvm") {
    object["test_path"] = dataset.test_path;
    object["features"] = dataset.features;
    if (dataset.test_path.empty()) object["test_fraction"] = dataset.test_fraction;
  }
  return object;
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

json optimizer_to_json(const OptimizerSpec& optimizer) {
  const OptimizerName name = optimizer.name;
  json object = {{"name", find_name(optimizer_names, name)},
                 {"learning_rate", optimizer.learning_rate},
                 {"weight_decay", optimizer.weight_decay},
                 {"schedule", schedule_to_json(optimizer.schedule)}};
  if (uses_momentum(name)) object["momentum"] = optimizer.momentum;
  if (uses_rho(name)) object["rho"] = optimizer.rho;
  if (uses_betas(name)) object["beta1"] = optimizer.beta1;
  if (uses_betas(name)) object["beta2"] = optimizer.beta2;
  if (uses_epsilon(name)) object["epsilon"] = optimizer.epsilon;
  return object;
}

json training_to_json(const TrainingSpec& training) {
  json object = {
      {"strategy", find_name(strategy_names, training.strategy)},
      {"wire", find_name(wire_names, training.wire)},
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
  if (training.global_batch_size) {
    object["global_batch_size"] = *training.global_batch_size;
    object["micro_batch_size"] = leaf_examples(training);
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

JobSpec read_job_spec(const JsonPlace& place) {
  JobSpec spec;
  Fields fields(place);
  if (const auto part = fields.require("model")) spec.model = read_model(*part);
  if (const auto part = fields.require("dataset")) spec.dataset = read_dataset(*part);
  check_model_and_data(spec, place);
  spec.name = spec.model.name + "-" + spec.dataset.name;
  fields.text("name", spec.name, printable_rule(1, 200));
  if (const auto part = fields.find("labels")) spec.labels = read_text_map(*part, labels_rule);
  fields.choice("mode", spec.mode, mode_names);

  const auto training = fields.find("training");
  spec.training = training ? read_training(*training) : default_training();
  const auto roles = fields.find("roles");
  const std::size_t faults_before_roles = place.faults.size();
  Roles read = roles ? read_roles(*roles) : default_roles(spec.training.strategy);
  spec.ps = read.ps;
  spec.worker = read.worker;
  spec.chief = read.chief;
  // What is wrong with a role by itself is said already; its number is then no one's wish.
  if (place.value.is_object() && !has_wrong(std::span(place.faults).subspan(faults_before_roles))) {
    check_roles(spec, place);
    settle_aggregate(spec, place);
    check_micro_batches(spec, place);
    check_staleness(spec, place);
    check_min_replicas(spec, place);
    check_wire(spec, place);
  }

  if (const auto part = fields.find("scheduling")) spec.scheduling = read_scheduling(*part);
  if (const auto part = fields.find("run_policy")) spec.run_policy = read_run_policy(*part);
  if (const auto part = fields.find("checkpoint")) spec.checkpoint = read_checkpoint(*part);
  check_resumed_step(spec, place);
  if (const auto part = fields.find("env")) spec.env = read_environment(*part);
  fields.refuse_others();
  return spec;
}

namespace {

constexpr std::int64_t layer_weights_max = std::int64_t{1} << 31;  // 8 GiB

// Rules that stored specs need not keep.
void check_later_rules(const JobSpec& spec, std::vector<Fault>& faults) {
  constexpr std::array<std::string_view, 4> metrics{"loss", "accuracy", "test_loss",
                                                    "test_accuracy"};  // of runtime/role/chief
  if (std::ranges::find(metrics, spec.checkpoint.metric) == metrics.end()) {
    faults.push_back(
        {"/checkpoint/metric", "must be loss, accuracy, test_loss or test_accuracy, got " +
                                   describe(json(spec.checkpoint.metric))});
  }
  for (std::size_t i = 1; i < spec.model.hidden.size(); ++i) {
    const std::int64_t weights = spec.model.hidden[i - 1] * spec.model.hidden[i];
    if (weights <= layer_weights_max) continue;
    faults.push_back(
        {"/model/hidden/" + std::to_string(i),
         "times the width before it must be at most 2^31 weights, got " + std::to_string(weights)});
  }
}

enum class Source { submitted, stored };

ParsedJobSpec parse(std::string_view text, Source source) {
  const ParsedJson parsed = parse_json_text(text);
  if (const auto* fault = std::get_if<Fault>(&parsed)) return std::vector{*fault};
  if (const auto* not_json = std::get_if<NotJson>(&parsed)) return *not_json;

  std::vector<Fault> faults;
  JobSpec spec = read_job_spec({std::get<json>(parsed), "", faults});
  if (source == Source::submitted) check_later_rules(spec, faults);
  if (!faults.empty()) return faults;
  return spec;
}

}  // namespace

ParsedJobSpec parse_job_spec(std::string_view text) { return parse(text, Source::submitted); }

ParsedJobSpec parse_stored_job_spec(std::string_view text) { return parse(text, Source::stored); }

json to_json_value(const JobSpec& spec) {
  return {{"name", spec.name},
          {"labels", spec.labels},
          {"model", model_to_json(spec.model)},
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
