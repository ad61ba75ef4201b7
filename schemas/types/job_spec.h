// What a user asks for, fully defaulted. schemas/wire/job_spec_json parses it and lists every fault
// at once; past that line a bad spec cannot exist. The user's page is schemas/job.schema.json.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schemas/model/written.h"
#include "schemas/types/gpu.h"
#include "schemas/types/image_spec.h"
#include "schemas/types/partition.h"
#include "schemas/types/precision.h"
#include "schemas/types/recsys_spec.h"
#include "schemas/types/resources.h"
#include "schemas/types/sequence_spec.h"

namespace trainyard {

enum class Mode { sync, async };
enum class Strategy { parameter_server, all_reduce, local };
// What computes a worker's gradients. automatic: its GPUs, where its host can use them.
enum class ComputeDevice { automatic, cpu, gpu };
// How numbers travel in one direction between workers and ps.
enum class Wire {
  float32,
  bfloat16,  // rounded
  onebit,    // gradients alone: a sign each, with error feedback
};
enum class PlacementPolicy { spread, pack };
struct DatasetSpec {
  // synthetic_digits, synthetic_lines, or any name the user gives a file data set
  std::string name;
  // synthetic_digits, idx, cifar, image_folder, csv, libsvm, text, tokens, sequences, image_lines,
  // synthetic_lines, recsys
  std::string format;
  // idx, cifar: folder of the files; image_folder: of the classes' folders; csv, recsys,
  // sequences, image_lines: the file; libsvm: the training file; text: a CSV file or the classes'
  // folders; tokens: a file, or those of a folder that match a pattern. On every agent's host
  std::string path;
  std::int64_t train_examples =
      0;  // synthetic_...: 1 or more; files: 0 = all, else the first so many
  std::int64_t test_examples = 0;
  // csv, text, recsys: header name or 0-based position from the left; sequences: position; "" = the
  // last, of recsys none
  std::string label_column;
  // The share of examples, drawn by seed, that is the test split: of csv, recsys, sequences,
  // image_lines, libsvm without test_path, image_folder and text without folders train and test; of
  // tokens it is the end
  double test_fraction = 0.2;
  std::string test_path{};  // libsvm, image_lines: the test file; "" = a share of path's examples
  // libsvm: 0 = as many as the largest index of both files; sequences: numbers of a time step
  std::int64_t features = 0;
  CifarLabels labels = CifarLabels::fine;  // cifar
  // image_folder, image_lines: what every image is made to be
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 3;
  // Images: nothing = bytes are divided by 255
  std::optional<NormalizeSpec> normalize{};
  std::vector<AugmentSpec> augment{};  // images for training, one after the other
  SequenceSpec sequence{};             // text, tokens, sequences, image_lines
  RecsysSpec recsys{};                 // recsys
  bool operator==(const DatasetSpec&) const = default;
};

enum class OptimizerName { sgd, momentum, nesterov, adagrad, adadelta, rmsprop, adam, adamw };
enum class ScheduleName { constant, step, cosine };

// The learning rate as a function of the global step: a linear rise over `warmup_steps` from 0,
// then `name`.
struct ScheduleSpec {
  ScheduleName name = ScheduleName::constant;
  std::int64_t warmup_steps = 0;
  std::int64_t step_size = 1000;  // step: multiplied by gamma every so many steps
  double gamma = 0.1;             // step
  double final_fraction = 0.0;    // cosine: ends at learning_rate * final_fraction at the last step
  bool operator==(const ScheduleSpec&) const = default;
};

// Which variables weight decay is for; rows of an embedding table are among them always.
enum class DecayedVariables {
  all,
  matrices,  // of two dimensions or more: kernels, but no biases and no scales
};

struct OptimizerSpec {
  OptimizerName name = OptimizerName::sgd;
  double learning_rate = 0.01;
  double momentum = 0.9;      // momentum, nesterov
  double rho = 0.9;           // adadelta, rmsprop (its "alpha")
  double beta1 = 0.9;         // adam, adamw
  double beta2 = 0.999;       // adam, adamw
  double epsilon = 1e-8;      // adagrad, adadelta, rmsprop, adam, adamw: inside as PyTorch has it
  double weight_decay = 0.0;  // adamw: decoupled; the others: added to the gradient
  DecayedVariables decay = DecayedVariables::all;
  double clip_norm = 0.0;  // most that the norm of a step's mean gradient may be; 0: any
  ScheduleSpec schedule;
  bool operator==(const OptimizerSpec&) const = default;
};

// What becomes of the learning rate of an async push that is stale: nothing, or it is divided by
// one more than the updates that came between.
enum class StalenessScaling { none, inverse };

struct WireSpec {
  Wire push = Wire::float32;  // gradients
  Wire pull = Wire::float32;  // parameters: float32 or bfloat16
  bool operator==(const WireSpec&) const = default;
};

// What one word says of both directions: bfloat16 is for both, onebit leaves parameters in float32.
constexpr WireSpec wire_by_word(Wire word) {
  return {.push = word, .pull = word == Wire::bfloat16 ? Wire::bfloat16 : Wire::float32};
}

// The word that says all of it; nothing where each direction needs its own.
constexpr std::optional<Wire> word_of(const WireSpec& wire) {
  if (wire != wire_by_word(wire.push)) return std::nullopt;
  return wire.push;
}

struct TrainingSpec {
  Strategy strategy = Strategy::parameter_server;
  WireSpec wire;
  Partitioning partitioning = Partitioning::chunks;
  std::int64_t batch_size = 100;  // examples per worker and step
  // Sync: instead of batch_size, the examples of a whole step, in micro-batches that any number of
  // workers computes and adds up to the same bits. Both or none.
  std::optional<std::int64_t> global_batch_size;
  std::optional<std::int64_t> micro_batch_size;
  std::optional<std::int64_t> epochs;  // of epochs and max_steps, the first reached ends the job;
  std::optional<std::int64_t> max_steps;  // at least one is set
  OptimizerSpec optimizer;
  std::uint64_t seed = 42;
  bool deterministic = true;
  std::optional<ComputeDevice> device;  // nothing: GPUs where the role has some
  Precision precision = Precision::float32;
  std::int64_t replicas_to_aggregate = 1;  // sync: contributions that a step waits for
  std::optional<std::int64_t> max_staleness;
  StalenessScaling staleness_scaling = StalenessScaling::none;  // async
  std::int64_t report_every_steps = 10;
  std::int64_t evaluate_every_steps = 1000;
  bool operator==(const TrainingSpec&) const = default;
};

struct RoleSpec {
  std::int64_t replicas = 0;
  Resources resources;
  PlacementPolicy placement = PlacementPolicy::pack;
  // Workers: an attempt starts with as many as there is room for, if they are so many at least.
  std::optional<std::int64_t> min_replicas = {};  // nothing: with all
  GpuWish gpu = {};                               // of each of resources.gpus
  bool operator==(const RoleSpec&) const = default;
};

struct SchedulingSpec {
  std::int64_t priority = 50;  // 0..100, higher first
  bool preemptible = false;
  std::optional<std::int64_t> max_queued_seconds;
  std::map<std::string, std::string> host_labels;  // an agent must carry all of these
  bool operator==(const SchedulingSpec&) const = default;
};

struct BackoffSpec {
  std::int64_t initial_seconds = 1;
  double multiplier = 2.0;
  std::int64_t max_seconds = 60;
  bool operator==(const BackoffSpec&) const = default;
};

struct RunPolicySpec {
  std::optional<std::int64_t> max_run_seconds;
  std::int64_t no_progress_timeout_seconds = 600;
  std::int64_t grace_period_seconds = 30;
  // How long a checkpoint may take before a suspension; 0: nothing is saved first.
  std::int64_t save_seconds = 120;
  // Of failures that are the user's; infrastructure's do not count. Also: how often an agent starts
  // a worker again in an attempt.
  std::int64_t max_restarts = 3;
  BackoffSpec backoff;
  bool operator==(const RunPolicySpec&) const = default;
};

struct CheckpointSpec {
  std::int64_t every_steps = 1000;   // 0 = never by steps
  std::int64_t every_seconds = 600;  // 0 = never by time
  std::int64_t keep_latest = 3;
  std::int64_t keep_best = 1;
  std::string metric = "test_loss";    // what "best" is judged by; loss: lowest, accuracy: highest
  std::string resume_from = "latest";  // latest, none, or "<job id>/<step>" of another job
  bool operator==(const CheckpointSpec&) const = default;
};

struct JobSpec {
  std::string name;
  std::map<std::string, std::string> labels;
  model::Written model;
  DatasetSpec dataset;
  Mode mode = Mode::sync;
  TrainingSpec training;
  RoleSpec ps;
  RoleSpec worker;
  std::optional<RoleSpec> chief;  // absent: worker/0 is the chief
  std::optional<RoleSpec> evaluator;
  SchedulingSpec scheduling;
  RunPolicySpec run_policy;
  CheckpointSpec checkpoint;
  std::map<std::string, std::string> env;
  bool operator==(const JobSpec&) const = default;
};

// Workers that compute gradients: `worker` replicas, and the chief where it is a task of its own.
inline std::int64_t training_replicas(const JobSpec& spec) {
  return spec.worker.replicas + (spec.chief ? spec.chief->replicas : 0);
}

// Async with a staleness of 0 is sync: nobody is ever ahead.
inline Mode step_mode(const JobSpec& spec) {
  return spec.training.max_staleness == 0 ? Mode::sync : spec.mode;
}

// Whether a step takes the first replicas_to_aggregate contributions that come, and leaves out the
// others.
inline bool has_backup_workers(const JobSpec& spec) {
  return spec.mode == Mode::sync && spec.training.replicas_to_aggregate < training_replicas(spec);
}

// GPUs of each worker, or of the chief where it trains alone; at least 1.
inline std::int64_t worker_gpus(const JobSpec& spec) {
  const bool is_chief_alone = spec.chief && spec.worker.replicas == 0;
  const RoleSpec& role = is_chief_alone ? *spec.chief : spec.worker;
  return std::max<std::int64_t>(1, role.resources.gpus);
}

// Gradients that a worker's `batch_size` is divided into: one for each of its GPUs, whatever
// computes them, so that a job has the same bytes on GPUs and on CPUs.
inline std::int64_t batch_leaves(const JobSpec& spec) {
  return spec.mode == Mode::async || has_backup_workers(spec) ? 1 : worker_gpus(spec);
}

// Examples of one gradient: a micro-batch, or what a worker's batch is divided into.
inline std::int64_t leaf_examples(const JobSpec& spec) {
  const TrainingSpec& training = spec.training;
  if (training.micro_batch_size) return *training.micro_batch_size;
  return std::max<std::int64_t>(1, training.batch_size / batch_leaves(spec));
}

// Gradients that a sync step adds up; with backup workers at most.
inline std::int64_t step_leaves(const JobSpec& spec) {
  const TrainingSpec& training = spec.training;
  if (!training.global_batch_size) return training_replicas(spec) * batch_leaves(spec);
  return *training.global_batch_size / leaf_examples(spec);
}

// Tasks that each hold a share of the parameters.
inline std::int64_t parameter_holders(const JobSpec& spec) {
  switch (spec.training.strategy) {
    case Strategy::parameter_server: return spec.ps.replicas;
    case Strategy::all_reduce: return training_replicas(spec);
    case Strategy::local: break;
  }
  return 1;
}

}  // namespace trainyard
