// The roles worker and chief: batch, gradient, new parameters, until the last step. One loop for
// sync and async, for ps and for none: what differs is behind StepExchange.
#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "runtime/core/sampler.h"
#include "runtime/core/schedule.h"
#include "runtime/core/variable.h"
#include "runtime/data/prefetch.h"
#include "runtime/model/culprit.h"
#include "runtime/model/final_part.h"
#include "runtime/model/node_sums.h"
#include "runtime/role/chief.h"
#include "runtime/role/compute_devices.h"
#include "runtime/role/finite_check.h"
#include "runtime/role/holders.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/open_exchange.h"
#include "runtime/role/own_share.h"
#include "runtime/role/partition_report.h"
#include "runtime/role/step_rows.h"
#include "runtime/role/task.h"
#include "schemas/base/log.h"
#include "schemas/wire/job_model.h"

namespace trainyard::runtime {
namespace {

// The loop and what it works on.
class Training {
 public:
  // `computes`: words on where, for the job's status.
  Training(const Task& task, JobPlan& plan, const Dataset& dataset, StepExchange& exchange,
           std::string computes)
      : task_(task),
        computes_(std::move(computes)),
        plan_(plan),
        dataset_(dataset),
        exchange_(exchange),
        rank_(training_rank(task.context)),
        nodes_(plan.nodes_of_rank(rank_)),
        elements_(static_cast<std::size_t>(plan.model.arena_elements())),
        node_sums_({.elements = elements_,
                    .state = static_cast<std::size_t>(
                        std::min(plan.model.arena_elements(), plan.state_begin)),
                    .row_widths = RowWidths(plan.model.rows())}) {}

  Result<TaskEnd> run() {
    TRY_ASSIGN(auto next, next_step());
    if (!next) return TaskEnd::stopped;
    const ExchangeNews before = exchange_.take_news();
    residual_step_ = next->step - 1;
    if (!plan_.model.rows().empty()) {
      TRY_ASSIGN(auto rows, task_.cause.of(Reason::peer_lost, exchange_.open_rows()));
      rows_.emplace(std::move(rows), plan_.model.row_batch(), plan_.mode);
    }
    log_info("training", {{"version", before.version},
                          {"max_steps", plan_.max_steps},
                          {"threads", plan_.model.threads().count()}});
    TRY(task_.phase(PhaseEvent::Phase::running, phase_detail()));
    std::optional<Chief> chief;
    if (is_chief(task_.context)) {
      TRY(task_.events.append(partition_report(task_.context, plan_, exchange_.transports())));
      RowExchange* const rows = rows_ ? &rows_->exchange() : nullptr;
      chief.emplace(Chief::Parts{task_, plan_, dataset_, exchange_, rows}, before);
      chief_ = &*chief;
    }
    TRY_ASSIGN(const bool is_over, steps(*std::move(next)));
    if (!is_over) return TaskEnd::stopped;
    if (chief) TRY(chief->finish());
    rows_.reset();
    const auto who = chief ? Leaving::chief : Leaving::worker;
    exchange_.leave(who);
    log_info("training is over");
    return TaskEnd::completed;
  }

 private:
  [[nodiscard]] std::string phase_detail() const {
    const std::string routes = routes_of(task_.context.spec, exchange_.transports());
    if (computes_.empty()) return routes;
    return "computes " + computes_ + (routes.empty() ? "" : "; " + routes);
  }

  // Nothing when asked to stop.
  Result<std::optional<NextStep>> next_step() {
    const auto start = StepTimes::Clock::now();
    auto next = exchange_.next();
    times_.wait += StepTimes::Clock::now() - start;
    if (!next.has_value() && task_.stop.stop_requested()) {
      return std::optional<NextStep>();
    }
    TRY_ASSIGN(const auto given, task_.cause.of(Reason::peer_lost, std::move(next)));
    return std::optional(given);
  }

  // False when asked to stop.
  Result<bool> steps(NextStep next) {
    if (next.is_over) return true;  // others have made all of them; there is no step to read for
    const TrainingSpec& training = task_.context.spec.training;
    const Sampler sampler(training.seed, dataset_.size(Split::train));
    const Leaves owned = plan_.leaves_of_rank(rank_);
    Prefetcher batches(
        dataset_, sampler,
        {.first_leaf = owned.begin,
         .leaf_count = owned.count(),
         .leaves = plan_.leaves,
         .batch_size = plan_.leaf_examples,
         .first_step = next.step,
         .last_step = plan_.mode == Mode::sync ? plan_.max_steps : BatchPlan{}.last_step});
    const std::stop_callback on_stop(task_.stop, [&batches] { batches.stop(); });
    batches.start();
    while (!next.is_over) {
      if (chief_ != nullptr) TRY(chief_->before_step(next.step));
      if (task_.stop.stop_requested()) return false;
      batches.skip_to(next.step);  // others may have made steps without this worker's gradient
      TRY_ASSIGN(const bool done, step(next.step, batches));
      if (!done) return false;
      if (chief_ != nullptr)
        chief_->progress().add_own_step(std::exchange(times_, {}), step_.sums.examples);
      TRY_ASSIGN(const auto following, next_step());
      if (!following) return false;
      next = *following;
    }
    return true;
  }

  // The gradient of a step: its nodes, one after another. What of the last node is final leaves
  // while the rest is computed. False when asked to stop.
  Result<bool> step(std::int64_t number, Prefetcher& batches) {
    step_ = {.number = number};
    const auto start = StepTimes::Clock::now();
    const StepTimes before = times_;
    std::vector<RowGradients> row_parts(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto place = exchange_.gradient().subspan(i * elements_, elements_);
      const auto leaf = [&](std::int64_t leaf_number, NodeSum of) {
        step_.is_last_leaf = leaf_number + 1 == nodes_.back().end;
        return next_leaf(of, batches);
      };
      TRY_ASSIGN(const bool done, node_sums_.add_up(nodes_[i], {place, row_parts[i]}, leaf));
      if (!done) return false;
    }
    TRY(check_loss(task_, step_.number, step_.sums.loss_sum, [this] { return step_.why_lost; }));
    if (!step_.told) TRY(tell());
    TRY_ASSIGN(const bool pushed, push_rows(std::move(row_parts)));
    if (!pushed) return false;
    if (clips_pushes()) clip_push();
    settle(0);
    TRY(check_gradient(task_, step_.number, exchange_.is_finite()));
    const Seconds elsewhere =
        (times_.input - before.input) + (times_.pull - before.pull) + (times_.push - before.push);
    times_.compute += StepTimes::Clock::now() - start - elsewhere;
    return true;
  }

  Result<bool> next_leaf(NodeSum sum, Prefetcher& batches) {
    const auto start = StepTimes::Clock::now();
    auto next = batches.next();
    times_.input += StepTimes::Clock::now() - start;
    TRY_ASSIGN(const Batch* const batch, task_.cause.of(Reason::bad_data, std::move(next)));
    ENSURE(batch != nullptr || task_.stop.stop_requested());  // the last step's was the last
    if (batch == nullptr) return false;
    return leaf_gradient(*batch, sum);
  }

  // False when asked to stop while it waits for parameters.
  Result<bool> leaf_gradient(const Batch& batch, NodeSum sum) {
    RowBatch* rows = nullptr;
    if (rows_) {
      rows = &rows_->batch();
      TRY_ASSIGN(const bool read, read_rows(batch));
      if (!read) return false;
    }
    FinalPart final_part(plan_.model.variables());
    Status there = ok();
    bool streams = false;
    const GradientCallbacks callbacks{.on_need =
                                          [&](std::size_t variable) {
                                            if (there.has_value()) there = await(variable);
                                          },
                                      .on_result =
                                          [&](const BatchResult& result) {
                                            if (there.has_value()) there = await_state();
                                            step_.sums += {.examples = result.examples,
                                                           .denominator = result.denominator,
                                                           .loss_sum = result.loss_sum,
                                                           .metrics = result.metrics};
                                            streams = can_stream() && there.has_value() &&
                                                      std::isfinite(step_.sums.loss_sum);
                                            if (streams) step_.told = tell();
                                          },
                                      .on_final =
                                          [&](std::size_t variable) {
                                            const std::int64_t from = final_part.add(variable);
                                            if (!streams || from == 0)
                                              return;  // the last of it when all is well
                                            node_sums_.settle(static_cast<std::size_t>(from));
                                            settle(from);
                                          },
                                      .parameters_stay = exchange_.parameters_stay()};
    plan_.model.gradient(exchange_.parameters(), batch, sum.dense, callbacks, rows);
    if (!there.has_value() && task_.stop.stop_requested()) return false;
    TRY(task_.cause.of(Reason::peer_lost, std::move(there)));
    if (step_.told) TRY(*step_.told);
    // No gradient of such a step leaves, so its parameters are still there.
    if (!std::isfinite(step_.sums.loss_sum) && step_.why_lost.empty()) {
      step_.why_lost = why_lost(batch, rows);
    }
    if (rows != nullptr && rows_->sums_here()) sum.rows = rows->gradients();
    return true;
  }

  // What the words about a loss that is no number go on with.
  std::string why_lost(const Batch& batch, RowBatch* rows) {
    const JobSpec& spec = task_.context.spec;
    const std::string first = first_not_finite({.model = spec.model,
                                                .data = dataset_.shape(),
                                                .seed = spec.training.seed,
                                                .parameters = exchange_.parameters(),
                                                .batch = batch,
                                                .rows = rows});
    const double rate = learning_rate_at(spec.training.optimizer, step_.number, plan_.max_steps);
    std::ostringstream text;
    if (!first.empty()) text << ": " << first;
    text << "; the learning rate is " << rate;
    return text.str();
  }

  // Of a table the rows' gradients have to be there first, and a norm is that of the whole
  // gradient.
  [[nodiscard]] bool can_stream() const { return step_.is_last_leaf && !rows_ && !clips_pushes(); }

  [[nodiscard]] bool clips_pushes() const {
    return plan_.mode == Mode::async && plan_.clip_norm > 0;
  }

  // Async: a push is an update of its own. Averages stay as they are.
  void clip_push() {
    const std::span<float> gradient = exchange_.gradient();
    ExactSum squares;
    plan_.update.add_squares(0, gradient, squares);
    const float scale =
        mean_factor(plan_.mean_over, step_.sums.denominator, plan_.gradient_scale());
    const float factor = clip_factor(squares.value(), scale, plan_.clip_norm);
    const auto end = std::min<std::int64_t>(std::ssize(gradient), plan_.state_begin);
    for (float& value : gradient.first(static_cast<std::size_t>(end))) value *= factor;
  }

  // Those of the batch. False when asked to stop.
  Result<bool> read_rows(const Batch& batch) {
    const auto start = StepTimes::Clock::now();
    Status read = rows_->read(step_.number, batch);
    times_.pull += StepTimes::Clock::now() - start;
    return unless_stopped(std::move(read));
  }

  // Ahead of all else of the step. False when asked to stop.
  Result<bool> push_rows(std::vector<RowGradients> parts) {
    if (!rows_) return true;
    TRY(check_gradient(task_, step_.number, rows_->is_finite(parts)));
    const auto start = StepTimes::Clock::now();
    Status pushed = rows_->push({.number = step_.number, .snapshot = exchange_.marked_snapshot()},
                                std::move(parts));
    times_.push += StepTimes::Clock::now() - start;
    if (chief_ != nullptr) chief_->progress().add_traffic(rows_->exchange().take_traffic());
    return unless_stopped(std::move(pushed));
  }

  Result<bool> unless_stopped(Status done) {
    if (!done.has_value() && task_.stop.stop_requested()) return false;
    if (!done.has_value()) TRY(task_.cause.of(Reason::peer_lost, exchange_.state()));
    TRY(task_.cause.of(Reason::peer_lost, std::move(done)));
    return true;
  }

  // Until the parameters of this variable are there. A forward pass reads no state, which lies
  // behind all others.
  Status await(std::size_t variable) {
    const Variable& needed = plan_.model.variables()[variable];
    if (needed.update == UpdateRule::running_average) return ok();
    return await_elements(needed.offset + needed.elements);
  }

  // Then the last step's sums of it were read, and a backward pass may write there.
  Status await_state() {
    return plan_.state_begin == no_state ? ok() : await_elements(plan_.model.arena_elements());
  }

  Status await_elements(std::int64_t end) {
    const auto start = StepTimes::Clock::now();
    Status there = exchange_.await_parameters(end);
    times_.pull += StepTimes::Clock::now() - start;
    return there;
  }

  // Once in a step, before anything of it is settled: what the batch was, and, of the chief, which
  // checkpoint the step is for. As late as it can be: the one before may still be written.
  Status tell() {
    const std::int64_t step = step_.number;
    exchange_.tell_sums(step, step_.sums);
    if (plan_.push == Wire::onebit) {
      exchange_.set_residual_scale(residual_scale(task_.context.spec.training.optimizer,
                                                  residual_step_, step, plan_.max_steps));
      residual_step_ = step;
    }
    return chief_ == nullptr ? ok() : chief_->begin_snapshot(step);
  }

  void settle(std::int64_t from) {
    const auto start = StepTimes::Clock::now();
    exchange_.settle(from);
    times_.push += StepTimes::Clock::now() - start;
  }

  const Task& task_;
  const std::string computes_;
  JobPlan& plan_;
  const Dataset& dataset_;
  StepExchange& exchange_;
  const std::int64_t rank_;
  const std::vector<Leaves> nodes_;
  const std::size_t elements_;    // of the arena
  std::optional<StepRows> rows_;  // of an embedding table; the model has none: nothing
  NodeSums node_sums_;
  Chief* chief_ = nullptr;  // none: this task is not it

  struct Step {
    std::int64_t number = 0;
    BatchSums sums = {};
    std::string why_lost = {};  // of the first leaf whose loss is no number
    bool is_last_leaf = false;
    std::optional<Status> told = {};  // by tell(), once it was called
  };
  Step step_;  // that is computed
  StepTimes times_;
  std::int64_t residual_step_ = 0;  // onebit: that the residuals were left over from
};

// Which decode what is read.
std::int64_t cpus_of(const TaskContext& context) {
  const JobSpec& spec = context.spec;
  const bool is_chief = context.key.role == Role::chief && spec.chief;
  return std::max<std::int64_t>(1, (is_chief ? *spec.chief : spec.worker).resources.cpus);
}

// Which compute a gradient: its CPUs, as far as the host has them. No bit depends on it.
std::int64_t threads_of(const TaskContext& context) {
  const auto of_host = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  const std::int64_t most = of_host > 0 ? of_host : 1;
  return std::min({cpus_of(context), most, ThreadTeam::threads_max});
}

}  // namespace

namespace {

Result<TaskEnd> train(const Task& task) {
  const JobSpec& spec = task.context.spec;
  const bool again = task.context.tasks_return && task.events.goes_on();
  TRY(task.phase(PhaseEvent::Phase::starting,
                 again ? "its process died and was started again" : ""));
  TRY_ASSIGN(
      const auto dataset,
      task.cause.of(Reason::bad_data, open_dataset(spec.dataset, spec.training.seed,
                                                   DataCache(task.context.data_cache),
                                                   cpus_of(task.context), label_steps_of(spec))));
  TRY(task.cause.of(Reason::bad_data, dataset->prepare(Split::train)));
  TRY_ASSIGN(ComputeDevices devices,
             task.cause.of(Reason::no_gpu, open_compute_devices(task.context)));
  const auto planned = [&] {
    Device* const gpu = devices.gpus.empty() ? nullptr : devices.gpus.front().get();
    return plan_job(spec, shape_of(*dataset), leaf_examples(spec.training),
                    threads_of(task.context), gpu);
  };
  TRY_ASSIGN(JobPlan plan,
             task.cause.of(Reason::bad_data, with_enough_memory(task.context, devices, planned)));
  TRY_ASSIGN(OwnShare own, OwnShare::open(task, plan));
  TRY_ASSIGN(auto exchange, open_exchange(task, plan));
  TRY_ASSIGN(const TaskEnd end, Training(task, plan, *dataset, *exchange, devices.detail).run());
  exchange.reset();  // the connections end in good order before its own share does
  if (end == TaskEnd::completed) TRY(task.cause.of(Reason::peer_lost, own.finish(task.stop)));
  return end;
}

}  // namespace

Result<TaskEnd> run_worker(const Task& task) {
  try {
    return train(task);
  } catch (const DeviceFailed& failure) {
    return task.cause.of(Reason::no_gpu, Result<TaskEnd>(internal(failure.what())));
  }
}

}  // namespace trainyard::runtime
