// The part "training" of the job spec, with the optimizer and its schedule.
#include "schemas/wire/job_spec_fields.h"
#include "schemas/wire/spec_names.h"

namespace trainyard {
namespace {

constexpr NumberRange below_one{0, 0.9999999};

double default_learning_rate(OptimizerName name) {
  switch (name) {
    case OptimizerName::sgd: return 0.5;
    case OptimizerName::momentum:
    case OptimizerName::nesterov: return 0.1;
    case OptimizerName::adagrad: return 0.01;
    case OptimizerName::adadelta: return 1.0;
    case OptimizerName::rmsprop:
    case OptimizerName::adam:
    case OptimizerName::adamw: return 0.001;
  }
  return 0.01;
}

double default_epsilon(OptimizerName name) {
  if (name == OptimizerName::adadelta) return 1e-6;
  if (name == OptimizerName::adagrad) return 1e-10;
  return 1e-8;
}

OptimizerSpec default_optimizer(OptimizerName name) {
  OptimizerSpec optimizer;
  optimizer.name = name;
  optimizer.learning_rate = default_learning_rate(name);
  optimizer.epsilon = default_epsilon(name);
  optimizer.rho = name == OptimizerName::rmsprop ? 0.99 : 0.9;
  optimizer.weight_decay = name == OptimizerName::adamw ? 0.01 : 0.0;
  return optimizer;
}

ScheduleSpec read_schedule(const JsonPlace& place) {
  ScheduleSpec schedule;
  Fields fields(place, "name");
  if (!fields.require("name")) return schedule;
  const std::size_t faults_before = place.faults.size();
  fields.choice("name", schedule.name, schedule_names);
  if (place.faults.size() > faults_before) return schedule;  // its fields are anyone's guess
  fields.integer("warmup_steps", schedule.warmup_steps, {0, steps_max});
  if (schedule.name == ScheduleName::step) {
    fields.integer("step_size", schedule.step_size, {1, steps_max});
    fields.number("gamma", schedule.gamma, {1e-9, 1});
  }
  if (schedule.name == ScheduleName::cosine) {
    fields.number("final_fraction", schedule.final_fraction, {0, 1});
  }
  fields.refuse_others();
  return schedule;
}

OptimizerSpec read_optimizer(const JsonPlace& place) {
  Fields fields(place, "name");
  if (!fields.require("name")) return default_optimizer(OptimizerName::sgd);
  OptimizerName name = OptimizerName::sgd;
  const std::size_t faults_before = place.faults.size();
  fields.choice("name", name, optimizer_names);
  OptimizerSpec optimizer = default_optimizer(name);
  if (place.faults.size() > faults_before) return optimizer;  // its fields are anyone's guess

  fields.number("learning_rate", optimizer.learning_rate, {1e-12, 1000});
  fields.number("weight_decay", optimizer.weight_decay, {0, 10});
  fields.choice("decay", optimizer.decay, decayed_variables_names);
  fields.number("clip_norm", optimizer.clip_norm, {0, 1e9});
  if (uses_momentum(name)) fields.number("momentum", optimizer.momentum, below_one);
  if (uses_rho(name)) fields.number("rho", optimizer.rho, below_one);
  if (uses_betas(name)) fields.number("beta1", optimizer.beta1, below_one);
  if (uses_betas(name)) fields.number("beta2", optimizer.beta2, below_one);
  if (uses_epsilon(name)) fields.number("epsilon", optimizer.epsilon, {1e-16, 1});
  if (const auto schedule = fields.find("schedule")) optimizer.schedule = read_schedule(*schedule);
  fields.refuse_others();
  return optimizer;
}

// One word for both directions, or an object with a word for each.
WireSpec read_wire(Fields& training) {
  const auto place = training.find("wire");
  if (!place) return {};
  if (!place->value.is_object()) {
    Wire word = Wire::float32;
    training.choice("wire", word, wire_names);
    return wire_by_word(word);
  }
  WireSpec wire;
  Fields fields(*place);
  fields.choice("push", wire.push, wire_names);
  fields.choice("pull", wire.pull, pull_wire_names);
  fields.refuse_others();
  return wire;
}

void read_length(Fields& fields, TrainingSpec& training) {
  training.epochs.reset();
  fields.optional_integer("epochs", training.epochs, {1, 1'000'000});
  fields.optional_integer("max_steps", training.max_steps, {1, steps_max});
  if (!training.epochs && !training.max_steps) training.epochs = default_training().epochs;
}

void read_device(Fields& fields, TrainingSpec& training) {
  if (fields.find("device")) {
    training.device = ComputeDevice::automatic;
    fields.choice("device", *training.device, device_names);
  }
  fields.choice("precision", training.precision, precision_names);
}

}  // namespace

TrainingSpec default_training() {
  TrainingSpec training;
  training.epochs = 20;
  training.optimizer = default_optimizer(OptimizerName::sgd);
  training.replicas_to_aggregate = 0;  // as many as there are; known with the roles
  return training;
}

TrainingSpec read_training(const JsonPlace& place) {
  TrainingSpec training = default_training();
  Fields fields(place);
  fields.choice("strategy", training.strategy, strategy_names);
  training.wire = read_wire(fields);
  fields.choice("partitioning", training.partitioning, partitioning_names);
  fields.integer("batch_size", training.batch_size, {1, 1'000'000});
  if (const auto global = fields.find("global_batch_size")) {
    training.global_batch_size = read_integer(*global, {1, 100'000'000});
  }
  if (const auto micro = fields.find("micro_batch_size")) {
    training.micro_batch_size = read_integer(*micro, {1, 1'000'000});
  }
  read_length(fields, training);
  if (const auto optimizer = fields.find("optimizer")) {
    training.optimizer = read_optimizer(*optimizer);
  }
  // Up to 2^53, the integers that every JSON reader keeps.
  auto seed = static_cast<std::int64_t>(training.seed);
  fields.integer("seed", seed, {0, 9'007'199'254'740'991});
  training.seed = static_cast<std::uint64_t>(seed);
  fields.boolean("deterministic", training.deterministic);
  read_device(fields, training);
  fields.integer("replicas_to_aggregate", training.replicas_to_aggregate, {1, 1000});
  fields.optional_integer("max_staleness", training.max_staleness, {0, 1'000'000});
  fields.choice("staleness_scaling", training.staleness_scaling, staleness_scaling_names);
  fields.integer("report_every_steps", training.report_every_steps, {1, steps_max});
  fields.integer("evaluate_every_steps", training.evaluate_every_steps, {1, steps_max});
  fields.refuse_others();
  return training;
}

}  // namespace trainyard
