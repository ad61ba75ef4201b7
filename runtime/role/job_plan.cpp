// From a spec to a plan, and from a checkpoint or the seed to the first weights.
#include "runtime/role/job_plan.h"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "runtime/core/partition.h"
#include "runtime/core/step_count.h"
#include "runtime/files/manifest_file.h"
#include "runtime/files/row_tensors.h"
#include "runtime/files/shard_file.h"
#include "runtime/net/chunks/chunk_frame.h"
#include "runtime/net/payload.h"
#include "runtime/net/wire_format.h"
#include "schemas/base/check.h"
#include "schemas/base/log.h"
#include "schemas/files/sha256.h"
#include "schemas/types/task_context.h"

namespace trainyard::runtime {
namespace {

// Small enough that both ways of a slow line are busy at once, and that a sum stays in the cache;
// bits do not depend on it.
constexpr std::int64_t chunk_elements_max = 64 << 10;

OptimizerKind kind_of(OptimizerName name) {
  switch (name) {
    case OptimizerName::sgd: return OptimizerKind::sgd;
    case OptimizerName::momentum: return OptimizerKind::momentum;
    case OptimizerName::nesterov: return OptimizerKind::nesterov;
    case OptimizerName::adagrad: return OptimizerKind::adagrad;
    case OptimizerName::adadelta: return OptimizerKind::adadelta;
    case OptimizerName::rmsprop: return OptimizerKind::rmsprop;
    case OptimizerName::adam: return OptimizerKind::adam;
    case OptimizerName::adamw: return OptimizerKind::adamw;
  }
  return OptimizerKind::sgd;
}

OptimizerConfig config_of(const OptimizerSpec& spec) {
  return {.kind = kind_of(spec.name),
          .momentum = static_cast<float>(spec.momentum),
          .rho = static_cast<float>(spec.rho),
          .beta1 = static_cast<float>(spec.beta1),
          .beta2 = static_cast<float>(spec.beta2),
          .epsilon = static_cast<float>(spec.epsilon),
          .weight_decay = static_cast<float>(spec.weight_decay)};
}

// Before a row of it is learned.
std::optional<RowTables> empty_tables(std::uint64_t seed, const JobPlan& plan) {
  if (plan.model.rows().empty()) return std::nullopt;
  return RowTables(plan.model.rows(), seed, plan.optimizer);
}

Result<std::int64_t> version_of(const Manifest& manifest) {
  constexpr double version_max = 9007199254740992.0;  // 2^53
  const auto version = manifest.scalars.find(version_scalar);
  if (version == manifest.scalars.end()) return manifest.step;
  const double number = version->second;
  if (number >= 0 && number <= version_max) return static_cast<std::int64_t>(number);
  return invalid("the checkpoint of step " + std::to_string(manifest.step) +
                 " is of a version that is no count of steps");
}

// Rows of an embedding are of words or values by their ids, which are counted from the data anew.
Status check_words(const Manifest& manifest, const JobPlan& plan) {
  if (!manifest.vocabulary || manifest.vocabulary->sha256 == plan.words_sha256) return ok();
  const std::string of_step = "the checkpoint of step " + std::to_string(manifest.step);
  if (plan.words_sha256.empty()) {
    return conflict(of_step + " has a vocabulary, and the ids of this job's dataset have none");
  }
  if (plan.data.layout == FeatureLayout::columns) {
    return conflict(of_step + " is of other ids: dataset.categorical and the values in the file " +
                    "of dataset.path give other ids now");
  }
  return conflict(of_step + " is of other words: the texts of dataset.path give other ids now");
}

// Outputs are of classes by their numbers. Earlier versions did not say their names.
Status check_class_names(const Manifest& manifest, const JobPlan& plan) {
  const Description now = describe_data(facts_of(plan.data), plan.data.class_names);
  const auto of_data = now.find(class_names_key);
  const auto saved = manifest.description.find(class_names_key);
  const bool both_are_known = of_data != now.end() && saved != manifest.description.end();
  if (!both_are_known || of_data->second == saved->second) return ok();
  return conflict("the checkpoint of step " + std::to_string(manifest.step) +
                  " is of other classes: the data of dataset.path have other names for them now");
}

// The same of ids that are hashes. Earlier versions did not say of what kind a checkpoint's are.
Status check_hashes(const Manifest& manifest, const RecsysSpec& recsys) {
  const auto saved = manifest.description.find(hash_buckets_key);
  if (saved == manifest.description.end() || saved->second == std::to_string(recsys.hash_buckets)) {
    return ok();
  }
  return conflict("the checkpoint of step " + std::to_string(manifest.step) +
                  " is of other ids: they are hashes below " + saved->second +
                  ", and not those of dataset." +
                  (recsys.hash_buckets > 0 ? "hash_buckets " + std::to_string(recsys.hash_buckets)
                                           : "vocabulary"));
}

// Without the vocabulary.
std::vector<ArtifactFile> shards_of(const RestoreFrom& restore, const Manifest& manifest) {
  std::vector<ArtifactFile> shards = restore.shards;
  if (manifest.vocabulary) std::erase(shards, *manifest.vocabulary);
  return shards;
}

// "": it does not matter, or is nothing to show.
std::string computed_on(const Manifest& manifest) {
  const auto found = manifest.description.find(computed_on_key);
  const bool is_told = found != manifest.description.end() && is_fingerprint(found->second);
  return is_told ? found->second : std::string();
}

Result<StartingShare> restored_share(const TaskContext& context, const JobPlan& plan,
                                     std::size_t index) {
  const RestoreFrom& restore = *context.restore;
  const Share& share = plan.shares.at(index);
  TRY_ASSIGN(const Manifest manifest, read_manifest(restore));
  TRY(check_fits(manifest, plan.model.variables(), plan.slot_names, plan.model.rows()));
  TRY(check_words(manifest, plan));
  TRY(check_class_names(manifest, plan));
  TRY(check_hashes(manifest, context.spec.dataset.recsys));
  TRY_ASSIGN(const std::int64_t version, version_of(manifest));
  if (version > plan.max_steps) {
    return conflict("the checkpoint of step " + std::to_string(manifest.step) + " is of " +
                    std::to_string(version) + " steps, more than this training has, " +
                    std::to_string(plan.max_steps));
  }
  const std::vector<ArtifactFile> shards = shards_of(restore, manifest);
  TRY_ASSIGN(RestoredShare restored, restore_share({.folder = restore.folder,
                                                    .files = shards,
                                                    .variables = plan.model.variables(),
                                                    .share = share,
                                                    .slot_names = plan.slot_names,
                                                    .residual_leaves = plan.residual_leaves()}));
  if (std::ssize(restored.residuals) != plan.residual_leaves()) {
    log_warning("residuals start at zero",
                {{"step", manifest.step},
                 {"leaves", plan.leaves},
                 {"message", "the checkpoint has none of just these gradients"}});
  }
  auto rows = empty_tables(context.spec.training.seed, plan);
  if (rows) {
    TRY(restore_rows({.folder = restore.folder,
                      .files = shards,
                      .slot_names = plan.slot_names,
                      .owner = static_cast<std::int64_t>(index),
                      .owners = std::ssize(plan.shares)},
                     *rows));
  }
  std::map<std::int64_t, AlignedBuffer> residuals;
  for (AlignedBuffer& values : restored.residuals) {
    residuals.emplace(std::ssize(residuals), std::move(values));
  }
  return StartingShare{.version = version,
                       .rank_steps = manifest.worker_steps,
                       .weights = std::move(restored.weights),
                       .slots = std::move(restored.slots),
                       .residuals = std::move(residuals),
                       .rows = std::move(rows),
                       .computed_on = computed_on(manifest)};
}

StartingShare initial_share(std::uint64_t seed, const JobPlan& plan, const Share& share) {
  AlignedBuffer arena(static_cast<std::size_t>(plan.model.arena_elements()));
  plan.model.initialize(seed, arena.span());

  AlignedBuffer weights(static_cast<std::size_t>(share.elements()));
  PayloadReader(payload_of(arena.span(), share)).read(weights.span());
  std::vector<AlignedBuffer> slots;
  for (std::size_t i = 0; i < plan.slot_names.size(); ++i) slots.emplace_back(weights.size());
  return {
      .weights = std::move(weights), .slots = std::move(slots), .rows = empty_tables(seed, plan)};
}

// Of a job that was taken by a version which divided nothing.
Status check_division(const JobSpec& spec) {
  const std::int64_t parts = batch_leaves(spec);
  const std::int64_t batch = spec.training.batch_size;
  if (spec.training.global_batch_size || batch % parts == 0) return ok();
  return invalid("training.batch_size must be a multiple of " + std::to_string(parts) +
                 ", the GPUs of a worker, got " + std::to_string(batch));
}

}  // namespace

std::vector<ArenaChunk> JobPlan::chunks() const {
  return cut_chunks(shares, chunk_elements_max, state_begin);
}

Leaves JobPlan::leaves_of_rank(std::int64_t rank) const {
  if (mode == Mode::async) return {rank, rank + 1};
  return leaves_of(rank, ranks, leaves);
}

std::vector<Leaves> JobPlan::nodes_of_rank(std::int64_t rank) const {
  const Leaves owned = leaves_of_rank(rank);
  if (mode == Mode::async) return {owned};
  return sent_nodes(push, owned, leaves);
}

ParameterServer::Rules::Clipping JobPlan::clipping() const {
  using Clipping = ParameterServer::Rules::Clipping;
  if (clip_norm == 0 || mode == Mode::async) return Clipping::none;
  std::set<std::int64_t> holders;
  for (const ArenaChunk& chunk : chunks()) holders.insert(chunk.holder);
  return holders.size() == 1 ? Clipping::alone : Clipping::together;
}

float JobPlan::gradient_scale() const {
  const std::int64_t gradients = mode == Mode::async ? 1 : has_backups() ? aggregate : leaves;
  return 1.0F / static_cast<float>(leaf_examples * gradients);
}

std::uint64_t JobPlan::hash() const {
  std::string text;
  const auto add = [&text](std::int64_t number) { text += std::to_string(number) + ","; };
  for (const std::int64_t number :
       {static_cast<std::int64_t>(mode), static_cast<std::int64_t>(push),
        static_cast<std::int64_t>(pull), ranks, leaves, max_steps,
        static_cast<std::int64_t>(mean_over)}) {
    add(number);
  }
  for (const ArenaChunk& chunk : chunks()) {
    add(chunk.range.begin);
    add(chunk.holder);
  }
  add(model.arena_elements());
  if (state_begin != no_state) add(state_begin);
  if (clip_norm > 0) add(std::bit_cast<std::int64_t>(clip_norm));
  text += words_sha256;
  for (const std::string& name : data.class_names) text += std::to_string(name.size()) + ":" + name;
  return std::stoull(sha256_hex(text).substr(0, 16), nullptr, 16);
}

Result<JobPlan> plan_job(const JobSpec& spec, const DatasetShape& data, std::int64_t batch_size,
                         std::int64_t threads, Device* gpu) {
  TRY(check_division(spec));
  TRY_ASSIGN(Model model, Model::build(spec.model, data.example,
                                       {.batch_size = batch_size,
                                        .seed = spec.training.seed,
                                        .team = {.threads = threads},
                                        .device = gpu}));
  JobPlan plan{.model = std::move(model),
               .data = data.example,
               .shares = {},
               .optimizer = config_of(spec.training.optimizer),
               .update = {},
               .mean_over = {},
               .clip_norm = spec.training.optimizer.clip_norm,
               .state_begin = no_state,
               .slot_names = {},
               .words_sha256 = data.words_sha256,
               .mode = step_mode(spec),
               .ranks = training_replicas(spec),
               .aggregate = has_backup_workers(spec) ? spec.training.replicas_to_aggregate
                                                     : training_replicas(spec),
               .leaves = step_leaves(spec),
               .leaf_examples = leaf_examples(spec),
               .max_steps = step_count(spec, data.train_examples),
               .push = spec.training.wire.push,
               .pull = spec.training.wire.pull};
  plan.mean_over = plan.model.mean_over();
  plan.update = ArenaUpdate(plan.model.variables(), spec.training.optimizer.decay);
  plan.state_begin = state_begin_of(plan.model.variables());
  plan.shares = partition_arena(spec.training.partitioning, plan.model.variables(),
                                plan.model.arena_elements(), parameter_holders(spec));
  for (const std::string_view name : slot_names(plan.optimizer.kind)) {
    plan.slot_names.emplace_back(name);
  }
  return plan;
}

Result<StartingShare> starting_share(const TaskContext& context, const JobPlan& plan,
                                     std::size_t index) {
  if (context.restore) return restored_share(context, plan, index);
  return initial_share(context.spec.training.seed, plan, plan.shares.at(index));
}

Result<StartingShare> with_cause(Result<StartingShare> share, FailureCause& cause) {
  const bool fits = share.has_value() || share.error().code != Code::conflict;
  return cause.of(fits ? Reason::checkpoint_lost : Reason::checkpoint_mismatch, std::move(share));
}

}  // namespace trainyard::runtime
