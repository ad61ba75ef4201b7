// Training does not stop for a checkpoint: the push that makes a version carries the order to save
// it, the ps write in the background, and a thread here waits for them and commits.
#include "runtime/role/chief.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "runtime/core/schedule.h"
#include "runtime/files/manifest_file.h"
#include "runtime/model/row_batch.h"
#include "runtime/role/checkpoint_files.h"
#include "runtime/role/holders.h"
#include "schemas/base/log.h"
#include "schemas/wire/spec_names.h"

namespace trainyard::runtime {
namespace {

constexpr std::chrono::seconds kLogEvery{2};
// At most ten reports a second beside those of evaluations: each is a row at the server.
constexpr std::chrono::milliseconds kReportPause{100};

// True when a multiple of `every` lies in (from, to]; never for 0.
bool crosses(std::int64_t from, std::int64_t to, std::int64_t every) {
  return every > 0 && to / every > from / every;
}

// Every shard holds the same pushes.
bool is_one_cut(const std::vector<WrittenShard>& shards) {
  return std::ranges::all_of(shards, [&shards](const WrittenShard& shard) {
    return shard.rank_steps == shards.front().rank_steps;
  });
}

}  // namespace

Chief::Chief(Parts parts, std::int64_t start)
    : parts_(parts),
      training_(parts.task.context.spec.training),
      saving_(parts.task.context.spec.checkpoint),
      progress_({.accuracy = parts_.dataset.shape().classes > 0,
                 .staleness = step_mode(parts_.task.context.spec) == Mode::async,
                 .trainers = parts_.plan.has_backups() ? trainers_of(parts_.task.context.spec)
                                                       : std::vector<std::string>{}},
                start),
      reported_(start),
      evaluated_(start),
      saved_(start),
      order_(parts_.task.context),
      saved_at_(std::chrono::steady_clock::now()) {}

Chief::~Chief() {
  if (under_way_.valid()) under_way_.wait();
}

Result<std::int64_t> Chief::snapshot_step(std::int64_t next) {
  const auto now = std::chrono::steady_clock::now();
  const bool by_time =
      saving_.every_seconds > 0 && now - saved_at_ >= std::chrono::seconds(saving_.every_seconds);
  // The last step's checkpoint is the final one.
  if (next >= parts_.plan.max_steps) return 0;
  const bool by_order = !ordered_ && order_.is_given();
  if (!by_order && !by_time && !crosses(saved_, next, saving_.every_steps)) return 0;
  // In async a checkpoint takes until the slowest worker has marked it; the chief's own batches are
  // not to wait for that, so this one comes with a later push.
  const bool sync = step_mode(parts_.task.context.spec) == Mode::sync;
  if (!sync && under_way_.valid() &&
      under_way_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return 0;
  }
  if (parts_.plan.has_backups() && !asked_.empty()) return 0;  // it is still to be made
  TRY(commit_under_way());
  if (by_order) ordered_ = next;
  asked_.push_back(next);
  saved_ = next;
  saved_at_ = now;
  return next;
}

bool Chief::holds_after(std::int64_t name) const {
  return ordered_ && name == *ordered_ && !training_.max_staleness;
}

Status Chief::after_step(const Pulled& pulled, const StepTimes& times) {
  progress_.add(times);
  progress_.add(pulled);
  const std::int64_t due = due_checkpoint(pulled);
  if (pulled.version < parts_.plan.max_steps) TRY(report_due(pulled, due));
  if (due == 0) return ok();
  TRY(commit_under_way());
  Checkpoint checkpoint{.step = due, .metrics = {}, .ordered = ordered_ && due >= *ordered_};
  if (is_saved_version(due, pulled) && reported_ == due) checkpoint.metrics = reported_values_;
  asked_.pop_front();
  saved_ = std::max(saved_, due);
  under_way_ = std::async(std::launch::async, [this, checkpoint] { return commit(checkpoint); });
  return checkpoint.ordered ? hold() : ok();
}

// A checkpoint has metrics of its own step and no other, so there is a report at each.
Status Chief::report_due(const Pulled& pulled, std::int64_t due) {
  const std::int64_t version = pulled.version;  // finish() reports the end
  const bool saves = due > 0 && is_saved_version(due, pulled);
  const bool evaluate_too = crosses(evaluated_, version, training_.evaluate_every_steps) ||
                            (saves && saving_.keep_best > 0);
  // What is due too soon comes with a later step, as means over all steps between.
  const bool report_too = may_report() && crosses(reported_, version, training_.report_every_steps);
  if (!evaluate_too && !saves && !report_too) return ok();
  if (evaluate_too) {
    Status there = parts_.params.await_parameters(parts_.plan.model.arena_elements());
    if (!there.has_value() && parts_.task.stop.stop_requested()) return ok();
    TRY(parts_.task.cause.of(Reason::peer_lost, std::move(there)));
  }
  return report(version, pulled.parameters, evaluate_too);
}

// Whether the parameters that were pulled are those of the checkpoint. In async those of others go
// on changing, and belong to it until they are marked; backup workers go on too.
bool Chief::is_saved_version(std::int64_t due, const Pulled& pulled) const {
  const JobSpec& spec = parts_.task.context.spec;
  const bool others_go_on = parts_.plan.has_backups() && has_embedding_table(spec);
  const bool is_alone = training_replicas(spec) == 1;
  return pulled.version == due && !others_go_on && (step_mode(spec) == Mode::sync || is_alone);
}

// After the checkpoint that was ordered no step is made. One that was given up is asked for again.
Status Chief::hold() {
  TRY(commit_under_way());
  if (committed_.empty() || committed_.back().step < *ordered_) {
    ordered_.reset();
    return ok();
  }
  log_info("saved as ordered", {{"step", committed_.back().step}});
  parts_.task.wait_for_stop();
  return ok();
}

// The name of one that is being made; 0: none. With backup workers the push that asked for it may
// have come too late for its own version: then it is of a later one, and has that one's name.
std::int64_t Chief::due_checkpoint(const Pulled& pulled) const {
  if (asked_.empty()) return 0;
  const std::int64_t asked = asked_.front();
  if (parts_.plan.has_backups()) return pulled.made_snapshot >= asked ? pulled.made_snapshot : 0;
  return pulled.version >= asked ? asked : 0;
}

bool Chief::may_report() const {
  return std::chrono::steady_clock::now() - reported_at_ >= kReportPause;
}

Status Chief::report(std::int64_t version, std::span<const float> parameters, bool evaluate_too) {
  if (parts_.plan.has_backups()) progress_.set_dropped(parts_.params.dropped());
  Values values = progress_.take(version);
  values["learning_rate"] = learning_rate_at(
      training_.optimizer, std::max<std::int64_t>(version, 1), parts_.plan.max_steps);
  if (evaluate_too) {
    TRY_ASSIGN(const Values tested, evaluate(parts_.plan.model, parameters));
    values.insert(tested.begin(), tested.end());
    evaluated_ = version;
  }
  reported_ = version;
  reported_at_ = std::chrono::steady_clock::now();
  reported_values_ = values;
  log_progress(version);
  return parts_.task.events.append(MetricEvent{
      .step = version, .max_steps = parts_.plan.max_steps, .values = std::move(values)});
}

// For people who read along: reports may come hundreds of times in a second.
void Chief::log_progress(std::int64_t version) {
  const auto now = std::chrono::steady_clock::now();
  const bool last = version >= parts_.plan.max_steps;
  if (!last && now - logged_at_ < kLogEvery) return;
  logged_at_ = now;
  log_info(last ? "last step" : "step",
           {{"step", version},
            {"of", parts_.plan.max_steps},
            {"loss", reported_values_["loss"]},
            {"examples_per_second", reported_values_["examples_per_second"]}});
}

// Nothing where there is nothing to test with, or when asked to stop.
Result<Chief::Values> Chief::evaluate(Model& model, std::span<const float> parameters) {
  const std::int64_t count = parts_.dataset.size(Split::test);
  if (count == 0) return Values();
  TRY(parts_.task.cause.of(Reason::bad_data, parts_.dataset.prepare(Split::test)));
  const std::int64_t row_width = parts_.plan.model.rows().width();
  RowBatch rows(row_width);
  Batch batch;
  BatchResult sum;
  std::vector<std::int64_t> indices;
  for (std::int64_t begin = 0; begin < count; begin += leaf_examples(training_)) {
    indices.resize(static_cast<std::size_t>(std::min(leaf_examples(training_), count - begin)));
    std::iota(indices.begin(), indices.end(), begin);
    parts_.dataset.read(Split::test, indices, batch);
    if (row_width > 0) {
      rows.assign(batch.sparse);
      Status read = parts_.params.read_rows(rows.ids(), rows.rows());
      if (!read.has_value() && parts_.task.stop.stop_requested()) return Values();
      TRY(parts_.task.cause.of(Reason::peer_lost, std::move(read)));
    }
    const BatchResult part = model.evaluate(parameters, batch, row_width > 0 ? &rows : nullptr);
    sum.loss_sum += part.loss_sum;
    sum.correct += part.correct;
    sum.examples += part.examples;
  }
  const auto examples = static_cast<double>(sum.examples);
  Values values{{"test_loss", sum.loss_sum / examples}};
  if (parts_.dataset.shape().classes > 0) {
    values["test_accuracy"] = static_cast<double>(sum.correct) / examples;
  }
  return values;
}

Status Chief::commit_under_way() {
  if (!under_way_.valid()) return ok();
  return blame(under_way_.get());
}

// A shard is refused as `invalid` for one reason only: it holds a number that is none.
Status Chief::blame(Status committed) const {
  const bool not_finite = !committed.has_value() && committed.error().code == Code::invalid;
  return parts_.task.cause.of(not_finite ? Reason::nan_loss : Reason::peer_lost,
                              std::move(committed));
}

Status Chief::commit(Checkpoint checkpoint) {
  const Task& task = parts_.task;
  const SnapshotDesk::Request request{.step = checkpoint.step,
                                      .keep_steps = kept_with(checkpoint.step)};
  auto written = parts_.params.snapshot(request);
  const bool lost = !written.has_value() && is_lost_with_ps(written.error());
  if (lost && checkpoint.final_one) {
    written = snapshot_again(request);
    checkpoint.metrics = reported_values_;
  }
  // Training ended meanwhile, or a ps that was lost has nothing of this checkpoint.
  const bool given_up = lost || (written.has_value() && !is_one_cut(*written));
  if (given_up && !checkpoint.final_one) {
    log_warning("checkpoint given up",
                {{"step", checkpoint.step},
                 {"message", lost ? written.error().message : "the shards are of no one cut"}});
    return ok();
  }
  TRY_ASSIGN(const std::vector<WrittenShard> shards, std::move(written));
  if (checkpoint.metrics.empty()) checkpoint.metrics = test_again(checkpoint.step);
  const Manifest manifest = manifest_of(checkpoint, shards);
  TRY_ASSIGN(const ArtifactFile file, write_manifest(task.context.folder, manifest));
  TRY(task.events.append(ManifestEvent{.step = checkpoint.step,
                                       .manifest = file,
                                       .shards = manifest.shards,
                                       .metrics = checkpoint.metrics,
                                       .final_one = checkpoint.final_one || checkpoint.ordered}));
  committed_.push_back(ranked_by(saving_.metric, checkpoint.step, checkpoint.metrics));
  keep_only_steps(task.context, steps_to_keep(retention_of(saving_), committed_));
  log_info("checkpoint committed", {{"step", checkpoint.step}, {"final", checkpoint.final_one}});
  return ok();
}

// Of what was saved, which no worker has; with a model of its own, since training goes on.
Chief::Values Chief::test_again(std::int64_t step) {
  if (!reads_back(parts_.task.context.spec)) return {};
  const auto test = [&]() -> Result<Values> {
    if (!tester_) {
      TRY_ASSIGN(JobPlan plan, plan_job(parts_.task.context.spec, shape_of(parts_.dataset),
                                        leaf_examples(training_)));
      tester_ = std::make_unique<JobPlan>(std::move(plan));
    }
    TRY_ASSIGN(const AlignedBuffer weights, parts_.params.read_snapshot(step));
    return evaluate(tester_->model, weights.span());
  };
  Result<Values> tested = test();
  if (tested.has_value()) return *std::move(tested);
  log_warning("checkpoint not tested", {{"step", step}, {"message", tested.error().message}});
  return {};
}

bool Chief::is_lost_with_ps(const Error& error) const {
  return error.code == Code::unavailable && comes_back(parts_.task.context, Role::ps);
}

// Of a ps that was lost after the last step: it is back once it has been told that this was it.
// What it has then is older than what was evaluated.
Result<std::vector<WrittenShard>> Chief::snapshot_again(const SnapshotDesk::Request& request) {
  const std::int64_t tries = parts_.task.context.spec.run_policy.max_restarts;
  Result<std::vector<WrittenShard>> written = unavailable("never asked");
  for (std::int64_t i = 0; i < tries && !parts_.task.stop.stop_requested(); ++i) {
    TRY_ASSIGN(const Pulled last, parts_.params.pull_master(parts_.plan.max_steps));
    TRY_ASSIGN(const Values tested, evaluate(parts_.plan.model, last.parameters));
    TRY(report_again(last, tested));
    written = parts_.params.snapshot(request);
    if (written.has_value() || !is_lost_with_ps(written.error())) break;
  }
  return written;
}

// What the last report said is no longer so.
Status Chief::report_again(const Pulled& last, const Values& tested) {
  Values values = tested;
  values["lost_updates"] = static_cast<double>(last.lost_updates);
  for (const auto& [name, value] : values) reported_values_[name] = value;
  const std::int64_t version = parts_.plan.max_steps;
  return parts_.task.events.append(
      MetricEvent{.step = version, .max_steps = version, .values = std::move(values)});
}

// What is committed so far and stays, and the one being written.
std::vector<std::int64_t> Chief::kept_with(std::int64_t step) const {
  if (!parts_.task.context.keep_files) return {};
  std::vector<std::int64_t> steps = steps_to_keep(retention_of(saving_), committed_);
  steps.push_back(step);
  return steps;
}

// Of a rank that had gone home a ps that was started again after that may know too little.
std::vector<std::int64_t> Chief::steps_of_all(const std::vector<WrittenShard>& shards) {
  std::vector<std::int64_t> steps = shards.front().rank_steps;
  for (const WrittenShard& shard : shards) {
    if (shard.rank_steps.size() > steps.size()) steps.resize(shard.rank_steps.size());
    for (std::size_t rank = 0; rank < shard.rank_steps.size(); ++rank) {
      steps[rank] = std::max(steps[rank], shard.rank_steps[rank]);
    }
  }
  return steps;
}

Manifest Chief::manifest_of(const Checkpoint& checkpoint,
                            const std::vector<WrittenShard>& shards) const {
  const TaskContext& context = parts_.task.context;
  Manifest manifest;
  manifest.step = checkpoint.step;
  manifest.attempt = context.key.attempt;
  manifest.job = context.key.job.text;
  manifest.spec_hash = context.spec_hash;
  manifest.mode = step_mode(context.spec) == Mode::sync ? "sync" : "async";
  manifest.seed = training_.seed;
  manifest.worker_steps = steps_of_all(shards);
  manifest.slots = parts_.plan.slot_names;
  manifest.metrics = checkpoint.metrics;
  manifest.description = {
      {"model", context.spec.model.name},
      {"activation", std::string(find_name(activation_names, context.spec.model.activation))},
      {"dataset", context.spec.dataset.name}};
  const std::int64_t batches = step_mode(context.spec) == Mode::sync
                                   ? shards.front().version * parts_.plan.leaves
                                   : std::accumulate(manifest.worker_steps.begin(),
                                                     manifest.worker_steps.end(), std::int64_t{0});
  manifest.examples_seen = leaf_examples(training_) * batches;
  for (const Variable& variable : parts_.plan.model.variables()) {
    manifest.variables.push_back({.name = variable.name, .shape = variable.shape});
  }
  for (const RowVariable& variable : parts_.plan.model.rows().variables) {
    manifest.rows.push_back({.name = variable.name, .shape = {variable.columns}});
  }
  manifest.scalars[kVersionScalar] = static_cast<double>(shards.front().version);
  for (const WrittenShard& shard : shards) manifest.shards.push_back(shard.file);
  return manifest;
}

Status Chief::finish(const Pulled& last) {
  TRY(parts_.task.phase(PhaseEvent::Phase::finishing));
  progress_.add(last);
  TRY(report(parts_.plan.max_steps, last.parameters, true));
  TRY(commit_under_way());
  TRY(blame(
      commit({.step = parts_.plan.max_steps, .metrics = reported_values_, .final_one = true})));
  return parts_.task.cause.of(Reason::peer_lost, parts_.params.finish());
}

}  // namespace trainyard::runtime
