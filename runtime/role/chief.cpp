// Training does not stop for a checkpoint: the push that makes a version carries the order to save
// it, the ps write in the background, and a thread here waits for them and commits.
#include "runtime/role/chief.h"

#include <algorithm>
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

constexpr std::chrono::seconds log_every{2};
// At most ten reports a second beside those of evaluations: each is a row at the server.
constexpr std::chrono::milliseconds report_pause{100};

// True when a multiple of `every` lies in (from, to]; never for 0.
bool crosses(std::int64_t from, std::int64_t to, std::int64_t every) {
  return every > 0 && to / every > from / every;
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
      version_(start),
      reported_(start),
      evaluated_(start),
      saved_(start),
      order_(parts_.task.context),
      saved_at_(std::chrono::steady_clock::now()) {}

Chief::~Chief() {
  if (under_way_.valid()) under_way_.wait();
}

// In sync the step before this one may still be on its way: its number is known.
std::int64_t Chief::made_before(std::int64_t step) {
  if (parts_.plan.mode == Mode::sync) return step - 1;
  take_news();
  return version_;
}

void Chief::take_news() {
  const StepExchange::News news = parts_.exchange.take_news();
  version_ = news.version;
  progress_.add_applied(news);
}

// A checkpoint has metrics of its own step and no other, so there is a report at each.
Status Chief::before_step(std::int64_t step) {
  const std::int64_t version = made_before(step);
  const std::int64_t due = due_checkpoint(version);
  const bool saves = due > 0 && is_saved_version(due, version);
  const bool evaluates =
      version > evaluated_ && (crosses(evaluated_, version, training_.evaluate_every_steps) ||
                               (saves && saving_.keep_best > 0));
  if (due == 0 && !evaluates) return ok();
  if (evaluates || saves) {
    Status there = parts_.exchange.await_parameters(parts_.plan.model.arena_elements());
    if (!there.has_value() && parts_.task.stop.stop_requested()) return ok();
    TRY(parts_.task.cause.of(Reason::peer_lost, std::move(there)));
    take_news();
    TRY(report(version, evaluates ? Evaluates::yes : Evaluates::no));
  }
  return due > 0 ? start_commit(due, version) : ok();
}

Status Chief::start_commit(std::int64_t due, std::int64_t version) {
  TRY(commit_under_way());
  Checkpoint checkpoint{.step = due, .metrics = {}, .ordered = ordered_ && due >= *ordered_};
  if (is_saved_version(due, version) && reported_ == due) checkpoint.metrics = reported_values_;
  asked_.reset();
  under_way_ = std::async(std::launch::async, [this, checkpoint] { return commit(checkpoint); });
  return is_sync() && checkpoint.ordered ? hold() : ok();
}

Status Chief::begin_snapshot(std::int64_t step) {
  take_news();
  const std::int64_t version = parts_.plan.mode == Mode::sync ? step - 1 : version_;
  // What is due too soon comes with a later step, as means over all steps between.
  if (version > reported_ && may_report() &&
      crosses(reported_, version, training_.report_every_steps)) {
    TRY(report(version, Evaluates::no));
  }
  TRY_ASSIGN(const std::int64_t name, next_checkpoint(version + 1));
  if (name == 0) return ok();
  const bool is_last = ordered_ && name == *ordered_;
  parts_.exchange.begin_snapshot(name, is_last ? AfterSnapshot::stops : AfterSnapshot::goes_on);
  // In async it is of a version that no worker has, with backup workers of one that ps 0 decides:
  // this step may be the last of all.
  return is_sync() ? ok() : start_commit(name, version);
}

// Its name; 0: none is due.
Result<std::int64_t> Chief::next_checkpoint(std::int64_t next) {
  const auto now = std::chrono::steady_clock::now();
  const bool by_time =
      saving_.every_seconds > 0 && now - saved_at_ >= std::chrono::seconds(saving_.every_seconds);
  if (next <= saved_) return 0;
  // The last step's checkpoint is the final one, which needs no mark but for residuals.
  if (next >= parts_.plan.max_steps) return marks_end() ? next : 0;
  const bool by_order = !ordered_ && order_.is_given();
  if (!by_order && !by_time && !crosses(saved_, next, saving_.every_steps)) return 0;
  if (asked_) return 0;  // it is still to be made
  // In async a checkpoint takes until the slowest worker has marked it; the chief's own batches are
  // not to wait for that, so this one comes with a later push.
  if (!is_sync() && under_way_.valid() &&
      under_way_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    return 0;
  }
  TRY(commit_under_way());
  if (by_order) ordered_ = next;
  asked_ = next;
  saved_ = next;
  saved_at_ = now;
  return next;
}

bool Chief::marks_end() const { return is_sync() && parts_.plan.push == Wire::onebit; }

// Whether the parameters that are here are those of the checkpoint.
bool Chief::is_saved_version(std::int64_t due, std::int64_t version) const {
  return version == due && is_sync();
}

// After the checkpoint that was ordered no step is made. In async nobody has a turn for one.
Status Chief::hold() {
  TRY(commit_under_way());
  parts_.task.wait_for_stop();
  return ok();
}

// The name of one that is made; 0: none.
std::int64_t Chief::due_checkpoint(std::int64_t version) const {
  return asked_ && version >= *asked_ ? *asked_ : 0;
}

bool Chief::may_report() const {
  return std::chrono::steady_clock::now() - reported_at_ >= report_pause;
}

Status Chief::report(std::int64_t version, Evaluates evaluates) {
  if (parts_.plan.has_backups()) progress_.set_dropped(parts_.exchange.dropped());
  Values values = progress_.take(version);
  values["learning_rate"] = learning_rate_at(
      training_.optimizer, std::max<std::int64_t>(version, 1), parts_.plan.max_steps);
  if (evaluates == Evaluates::yes) {
    TRY_ASSIGN(const Values tested, evaluate(parts_.plan.model, parts_.exchange.parameters()));
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
  if (!last && now - logged_at_ < log_every) return;
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
  RowBatch rows(parts_.plan.model.rows().width());
  Batch batch;
  BatchResult sum;
  std::vector<std::int64_t> indices;
  for (std::int64_t begin = 0; begin < count; begin += leaf_examples(training_)) {
    indices.resize(static_cast<std::size_t>(std::min(leaf_examples(training_), count - begin)));
    std::iota(indices.begin(), indices.end(), begin);
    parts_.dataset.read(Split::test, indices, batch);
    if (parts_.rows != nullptr) {
      rows.assign(batch.sparse);
      Status read = parts_.rows->read({}, rows.ids(), rows.rows());
      if (!read.has_value() && parts_.task.stop.stop_requested()) return Values();
      TRY(parts_.task.cause.of(Reason::peer_lost, std::move(read)));
    }
    const BatchResult part =
        model.evaluate(parameters, batch, parts_.rows != nullptr ? &rows : nullptr);
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
  if (!checkpoint.final_one) {
    TRY_ASSIGN(checkpoint.step, parts_.exchange.await_snapshot(checkpoint.step));
    if (checkpoint.step == 0) return ok();  // training is over: the end is saved in its place
  }
  auto written =
      parts_.exchange.shards({.step = checkpoint.step, .keep_steps = kept_with(checkpoint.step)});
  const bool too_late = !written.has_value() && written.error().code == Code::conflict;
  if (too_late && !checkpoint.final_one) return ok();  // likewise
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
  if (checkpoint.ordered) log_info("saved as ordered", {{"step", checkpoint.step}});
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
    TRY_ASSIGN(const AlignedBuffer weights, parts_.exchange.read_snapshot(step));
    return evaluate(tester_->model, weights.span());
  };
  Result<Values> tested = test();
  if (tested.has_value()) return *std::move(tested);
  log_warning("checkpoint not tested", {{"step", step}, {"message", tested.error().message}});
  return {};
}

// What is committed so far and stays, and the one being written.
std::vector<std::int64_t> Chief::kept_with(std::int64_t step) const {
  if (!parts_.task.context.keep_files) return {};
  std::vector<std::int64_t> steps = steps_to_keep(retention_of(saving_), committed_);
  steps.push_back(step);
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
  manifest.worker_steps = shards.front().rank_steps;
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
  manifest.scalars[version_scalar] = static_cast<double>(shards.front().version);
  for (const WrittenShard& shard : shards) manifest.shards.push_back(shard.file);
  return manifest;
}

Status Chief::finish() {
  TRY(parts_.task.phase(PhaseEvent::Phase::finishing));
  take_news();
  TRY(report(parts_.plan.max_steps, Evaluates::yes));
  TRY(commit_under_way());
  return blame(
      commit({.step = parts_.plan.max_steps, .metrics = reported_values_, .final_one = true}));
}

}  // namespace trainyard::runtime
