#include "runtime/role/checkpoint_commits.h"

#include <chrono>
#include <numeric>
#include <utility>

#include "runtime/model/build.h"
#include "runtime/role/checkpoint_files.h"
#include "schemas/base/log.h"
#include "schemas/model/outline.h"
#include "schemas/wire/data_description.h"

namespace trainyard::runtime {
namespace {

constexpr std::chrono::seconds unmarked_limit{5};

// `unavailable` is the word of a ps that is gone.
Error of_this_disk(Error error) {
  if (error.code == Code::unavailable) error.code = Code::internal;
  return error;
}

Manifest manifest_of(const CheckpointCommits::Checkpoint& checkpoint, const TaskContext& context,
                     const JobPlan& plan, const std::vector<WrittenShard>& shards) {
  const TrainingSpec& training = context.spec.training;
  Manifest manifest;
  manifest.step = checkpoint.step;
  manifest.attempt = context.key.attempt;
  manifest.job = context.key.job.text;
  manifest.spec_hash = context.spec_hash;
  manifest.mode = step_mode(context.spec) == Mode::sync ? "sync" : "async";
  manifest.seed = training.seed;
  manifest.worker_steps = shards.front().rank_steps;
  manifest.slots = plan.slot_names;
  manifest.metrics = checkpoint.metrics;
  manifest.description = describe_data(facts_of(plan.data), plan.data.class_names);
  manifest.description["model"] = model::name_of(context.spec.model);
  manifest.description["dataset"] = context.spec.dataset.name;
  if (const std::int64_t buckets = context.spec.dataset.recsys.hash_buckets; buckets > 0) {
    manifest.description[hash_buckets_key] = std::to_string(buckets);
  }
  const std::string activation = model::text_argument(context.spec.model, "activation");
  if (!activation.empty()) manifest.description["activation"] = activation;
  const std::int64_t batches = step_mode(context.spec) == Mode::sync
                                   ? shards.front().version * plan.leaves
                                   : std::accumulate(manifest.worker_steps.begin(),
                                                     manifest.worker_steps.end(), std::int64_t{0});
  manifest.examples_seen = leaf_examples(context.spec) * batches;
  for (const Variable& variable : plan.model.variables()) {
    manifest.variables.push_back({.name = variable.name, .shape = variable.shape});
  }
  for (const RowVariable& variable : plan.model.rows().variables) {
    manifest.rows.push_back(
        {.name = variable.name, .shape = {variable.columns}, .table = variable.table});
  }
  manifest.scalars[version_scalar] = static_cast<double>(shards.front().version);
  for (const WrittenShard& shard : shards) manifest.shards.push_back(shard.file);
  return manifest;
}

}  // namespace

CheckpointCommits::~CheckpointCommits() {
  if (!under_way_.valid()) return;
  const bool is_marked = parts_.plan.mode == Mode::sync && !parts_.plan.has_backups();
  if (!is_marked && under_way_.wait_for(unmarked_limit) != std::future_status::ready) {
    parts_.exchange.give_up();
  }
  under_way_.wait();
}

Status CheckpointCommits::start(Checkpoint checkpoint) {
  TRY(await());
  under_way_ = std::async(std::launch::async, [this, checkpoint = std::move(checkpoint)] {
    return commit(checkpoint);
  });
  return ok();
}

Status CheckpointCommits::finish(Checkpoint checkpoint) {
  TRY(await());
  return blame(commit(std::move(checkpoint)));
}

bool CheckpointCommits::is_under_way() const {
  return under_way_.valid() &&
         under_way_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

Status CheckpointCommits::await() {
  if (!under_way_.valid()) return ok();
  return blame(under_way_.get());
}

// A shard is refused as `invalid` for one reason only: it holds a number that is none.
Status CheckpointCommits::blame(Status committed) const {
  if (committed.has_value()) return committed;
  const auto reason = [code = committed.error().code] {
    switch (code) {
      case Code::invalid: return Reason::nan_loss;
      case Code::unavailable:
      case Code::conflict: return Reason::peer_lost;
      case Code::not_found:
      case Code::internal: break;
    }
    return Reason::checkpoint_failed;
  };
  return parts_.task.cause.of(reason(), std::move(committed));
}

Status CheckpointCommits::commit(Checkpoint checkpoint) {
  const Task& task = parts_.task;
  const CheckpointSpec& saving = task.context.spec.checkpoint;
  const bool at_end = checkpoint.kind == Kind::of_the_end;
  if (!at_end) {
    TRY_ASSIGN(checkpoint.step, parts_.exchange.await_snapshot(checkpoint.step));
    if (checkpoint.step == 0) return ok();  // training is over: the end is saved in its place
  }
  auto written =
      parts_.exchange.shards({.step = checkpoint.step, .keep_steps = kept_with(checkpoint.step)});
  const bool too_late = !written.has_value() && written.error().code == Code::conflict;
  if (too_late && !at_end) return ok();  // likewise
  TRY_ASSIGN(const std::vector<WrittenShard> shards, std::move(written));
  if (checkpoint.metrics.empty()) checkpoint.metrics = test_again(checkpoint.step);
  Manifest manifest = manifest_of(checkpoint, task.context, parts_.plan, shards);
  if (!parts_.computed_on.empty()) manifest.description[computed_on_key] = parts_.computed_on;
  if (const std::string_view words = parts_.dataset.words(); !words.empty()) {
    const auto vocabulary = write_vocabulary(task.context.folder, checkpoint.step, words);
    if (!vocabulary.has_value()) return of_this_disk(vocabulary.error());
    manifest.vocabulary = *vocabulary;
  }
  const auto file = write_manifest(task.context.folder, manifest);
  if (!file.has_value()) return of_this_disk(file.error());
  TRY(task.events.append(ManifestEvent{.step = checkpoint.step,
                                       .manifest = *file,
                                       .shards = manifest.shards,
                                       .metrics = checkpoint.metrics,
                                       .final_one = checkpoint.kind != Kind::regular,
                                       .vocabulary = manifest.vocabulary}));
  committed_.push_back(ranked_by(saving.metric, checkpoint.step, checkpoint.metrics));
  keep_only_steps(task.context, steps_to_keep(retention_of(saving), committed_));
  log_info("checkpoint committed", {{"step", checkpoint.step}, {"final", at_end}});
  if (checkpoint.kind == Kind::ordered) log_info("saved as ordered", {{"step", checkpoint.step}});
  return ok();
}

// Of what was saved, which no worker has; with a model of its own, since training goes on. That it
// failed is no cause of the task's end.
MetricValues CheckpointCommits::test_again(std::int64_t step) {
  const JobSpec& spec = parts_.task.context.spec;
  if (!reads_back(spec, parts_.plan)) return {};
  FailureCause unheard;
  const Task quiet{parts_.task.context, parts_.task.events, unheard, parts_.task.stop};
  const auto test = [&]() -> Result<MetricValues> {
    if (!tester_) {
      TRY_ASSIGN(JobPlan plan, plan_job(spec, shape_of(parts_.dataset), leaf_examples(spec)));
      tester_ = std::make_unique<JobPlan>(std::move(plan));
    }
    TRY_ASSIGN(const AlignedBuffer weights, parts_.exchange.read_snapshot(step));
    return evaluate({quiet, parts_.dataset, tester_->model, weights.span()});
  };
  Result<MetricValues> tested = test();
  if (tested.has_value()) return *std::move(tested);
  log_warning("checkpoint not tested", {{"step", step}, {"message", tested.error().message}});
  return {};
}

// What is committed so far and stays, and the one being written.
std::vector<std::int64_t> CheckpointCommits::kept_with(std::int64_t step) const {
  const TaskContext& context = parts_.task.context;
  if (!context.keep_files) return {};
  std::vector<std::int64_t> steps =
      steps_to_keep(retention_of(context.spec.checkpoint), committed_);
  steps.push_back(step);
  return steps;
}

}  // namespace trainyard::runtime
