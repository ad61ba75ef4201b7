// Training does not stop for a checkpoint: the push that makes a version carries the order to save
// it, the ps write in the background, and a thread of CheckpointCommits waits for them.
#include "runtime/role/chief.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/schedule.h"
#include "runtime/math/ops/cpu/fma_peak.h"
#include "runtime/role/checkpoint_files.h"
#include "runtime/role/holders.h"
#include "schemas/base/clock.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

constexpr std::chrono::seconds log_every{2};
// At most ten reports a second beside those of evaluations: each is a row at the server.
constexpr std::chrono::milliseconds report_pause{100};
// While checkpoints wait each step asks how many they are: the folder is not read each time.
constexpr Millis count_pause{100};

CheckpointSchedule::Rules rules_of(const CheckpointSpec& spec, const JobPlan& plan) {
  return {.every_steps = spec.every_steps,
          .every = seconds(spec.every_seconds),
          .last_step = plan.max_steps};
}

// Of the cores; a GPU's is not known.
double peak_flops_of(const Model& model) {
  if (model.is_on_device()) return 0;
  return measure_fma_peak() * static_cast<double>(model.threads().count());
}

// Of all GPUs of the task together; none where it computes on the CPU.
ProductRates product_rates_of(const TaskContext& context, std::int64_t gpus) {
  ProductRates rates;
  for (const auto& [precision, tflops] : context.gpu_product_rates) {
    if (gpus > 0 && is_product_rate(tflops)) rates[precision] = tflops * static_cast<double>(gpus);
  }
  return rates;
}

}  // namespace

Chief::Chief(Parts parts, const ExchangeNews& start)
    : parts_(parts),
      training_(parts.task.context.spec.training),
      progress_({.metrics = {parts.plan.model.metrics().begin(), parts.plan.model.metrics().end()},
                 .staleness = step_mode(parts.task.context.spec) == Mode::async,
                 .trainers = parts.plan.has_backups() ? trainers_of(parts.task.context.spec)
                                                      : std::vector<std::string>{},
                 .example_flops = [&model = parts.plan.model] { return model.take_step_flops(); },
                 .peak_flops = peak_flops_of(parts.plan.model),
                 .precision = parts.task.context.spec.training.precision,
                 .product_rates = product_rates_of(parts.task.context, parts.gpus)},
                start.version),
      version_(start.version),
      reported_(start.version),
      evaluated_(start.version),
      order_(parts.task.context),
      schedule_(rules_of(parts.task.context.spec.checkpoint, parts.plan), start.version,
                steady_now()),
      commits_({parts.task, parts.plan, parts.dataset, parts.exchange, parts.computed_on}) {
  progress_.add_earlier(start.sums);
}

// In sync the step before this one may still be on its way: its number is known.
std::int64_t Chief::made_before(std::int64_t step) {
  if (parts_.plan.mode == Mode::sync) return step - 1;
  take_news();
  return version_;
}

void Chief::take_news() {
  const ExchangeNews news = parts_.exchange.take_news();
  version_ = news.version;
  progress_.add_applied(news);
}

// A checkpoint has metrics of its own step and no other, so there is a report at each.
Status Chief::before_step(std::int64_t step) {
  const std::int64_t version = made_before(step);
  const std::int64_t due = schedule_.asked_by(version);
  const bool saves = due > 0 && is_saved_version(due, version);
  const bool evaluates =
      version > evaluated_ && (crosses(evaluated_, version, training_.evaluate_every_steps) ||
                               (saves && parts_.task.context.spec.checkpoint.keep_best > 0));
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
  const bool is_last = schedule_.is_ordered(due);
  CheckpointCommits::Checkpoint checkpoint{.step = due, .metrics = {}};
  if (is_last) checkpoint.kind = CheckpointCommits::Kind::ordered;
  if (is_saved_version(due, version) && reported_ == due) checkpoint.metrics = reported_values_;
  schedule_.begin();
  TRY(commits_.start(std::move(checkpoint)));
  return is_sync() && is_last ? hold() : ok();
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
  parts_.exchange.begin_snapshot(
      name, schedule_.is_ordered(name) ? AfterSnapshot::stops : AfterSnapshot::goes_on);
  // In async it is of a version that no worker has, with backup workers of one that ps 0 decides:
  // this step may be the last of all.
  return is_sync() ? ok() : start_commit(name, version);
}

// Its name; 0: none is due.
Result<std::int64_t> Chief::next_checkpoint(std::int64_t next) {
  const Time now = steady_now();
  // The last step's checkpoint is the final one, which needs no mark but for residuals.
  if (next >= parts_.plan.max_steps) return marks_end() ? next : 0;
  CheckpointSchedule::Moment moment{.step = next, .ordered = order_.is_given(), .now = now};
  if (!schedule_.is_due(moment)) return 0;
  // In async a checkpoint takes until the slowest worker has marked it; the chief's own batches are
  // not to wait for that, so this one comes with a later push.
  if (!is_sync() && commits_.is_under_way()) return 0;
  moment.waiting = waiting_checkpoints(now);
  if (!schedule_.is_due(moment)) return 0;
  if (moment.waiting > CheckpointSchedule::waiting_max) {
    log_warning("checkpoints wait for the server and are made rarer",
                {{"waiting", moment.waiting}});
  }
  TRY(commits_.await());
  schedule_.ask(next, moment.ordered, now);
  count_again_at_ = now;
  return next;
}

std::int64_t Chief::waiting_checkpoints(Time now) {
  if (now < count_again_at_) return waiting_;
  count_again_at_ = now + count_pause;
  return waiting_ = undelivered_checkpoints(parts_.task.context);
}

bool Chief::marks_end() const { return is_sync() && parts_.plan.push == Wire::onebit; }

// Whether the parameters that are here are those of the checkpoint.
bool Chief::is_saved_version(std::int64_t due, std::int64_t version) const {
  return version == due && is_sync();
}

// After the checkpoint that was ordered no step is made. In async nobody has a turn for one.
Status Chief::hold() {
  TRY(commits_.await());
  parts_.task.wait_for_stop();
  return ok();
}

bool Chief::may_report() const {
  return std::chrono::steady_clock::now() - reported_at_ >= report_pause;
}

Status Chief::report(std::int64_t version, Evaluates evaluates) {
  if (parts_.plan.has_backups()) progress_.set_dropped(parts_.exchange.dropped());
  MetricValues values = progress_.take(version);
  values["learning_rate"] = learning_rate_at(
      training_.optimizer, std::max<std::int64_t>(version, 1), parts_.plan.max_steps);
  if (evaluates == Evaluates::yes) {
    TRY_ASSIGN(const MetricValues tested, evaluate({parts_.task, parts_.dataset, parts_.plan.model,
                                                    parts_.exchange.parameters(), parts_.rows}));
    values.insert(tested.begin(), tested.end());
    evaluated_ = version;
  }
  reported_ = version;
  reported_values_ = values;
  log_progress(version);
  TRY(parts_.task.events.append(MetricEvent{
      .step = version, .max_steps = parts_.plan.max_steps, .values = std::move(values)}));
  reported_at_ = std::chrono::steady_clock::now();  // behind the time that the report bears
  return ok();
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

Status Chief::finish() {
  TRY(parts_.task.phase(PhaseEvent::Phase::finishing));
  take_news();
  TRY(report(parts_.plan.max_steps, Evaluates::yes));
  return commits_.finish({.step = parts_.plan.max_steps,
                          .metrics = reported_values_,
                          .kind = CheckpointCommits::Kind::of_the_end});
}

}  // namespace trainyard::runtime
