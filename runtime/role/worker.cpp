// The roles worker and chief: batch, gradient, push, new parameters, until the last step. One loop
// for sync and async, for ps and for none: what differs is behind ParamsChannel.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/core/schedule.h"
#include "runtime/core/step_protocol.h"
#include "runtime/core/variable.h"
#include "runtime/data/prefetch.h"
#include "runtime/math/wire/onebit.h"
#include "runtime/model/row_batch.h"
#include "runtime/net/params_channel.h"
#include "runtime/role/chief.h"
#include "runtime/role/final_tail.h"
#include "runtime/role/finite_check.h"
#include "runtime/role/heir.h"
#include "runtime/role/holders.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/node_sums.h"
#include "runtime/role/own_share.h"
#include "runtime/role/partition_report.h"
#include "runtime/role/task.h"
#include "runtime/role/worker_params.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

// The loop and what it works on.
class Training {
 public:
  Training(const Task& task, JobPlan& plan, const Dataset& dataset, ParamsChannel& params)
      : task_(task),
        plan_(plan),
        dataset_(dataset),
        params_(params),
        nodes_(own_nodes(task, plan)),
        elements_(static_cast<std::size_t>(plan.model.arena_elements())),
        row_width_(plan.model.rows().width()),
        rows_(row_width_),
        gradient_(params.gradient_buffer(elements_ * nodes_.size())),
        node_sums_(elements_, row_width_),
        heir_(task, plan, dataset, node_sums_),
        protocol_({.mode = step_mode(task.context.spec), .max_steps = plan.max_steps}) {}

  Result<TaskEnd> run() {
    while (protocol_.begins()) {
      TRY(ask(protocol_.next()));
      if (task_.stop.stop_requested()) return TaskEnd::stopped;
    }
    forget_what_was_before();
    residual_step_ = pulled_.version;
    log_info("training", {{"version", pulled_.version}, {"max_steps", plan_.max_steps}});
    TRY(task_.phase(PhaseEvent::Phase::running,
                    routes_of(task_.context.spec, params_.transports())));

    std::optional<Chief> chief;
    if (is_chief(task_.context)) {
      TRY(task_.events.append(partition_report(task_.context, plan_, params_.transports())));
      chief.emplace(Chief::Parts{task_, plan_, dataset_, params_}, pulled_.version);
    }
    TRY(steps(chief ? &*chief : nullptr));
    if (task_.stop.stop_requested()) return TaskEnd::stopped;
    if (chief) TRY(finish(*chief));
    if (heir_.count() > 0) log_info("computed for others", {{"count", heir_.count()}});
    if (plan_.has_backups()) log_info("contributions dropped", {{"count", dropped_}});
    log_info("training is over", {{"version", pulled_.version}});
    return TaskEnd::completed;
  }

 private:
  [[nodiscard]] bool sync() const { return step_mode(task_.context.spec) == Mode::sync; }
  [[nodiscard]] std::int64_t next_step() const {
    return (sync() ? pulled_.version : pulled_.rank_step) + 1;
  }

  // Anything but a push of its own. When asked to stop it may be left undone.
  Status ask(const StepProtocol::Ask& next) {
    using enum StepProtocol::Ask::What;
    if (next.what == inherit) {
      TRY_ASSIGN(const bool done,
                 heir_.stand_in(protocol_.inheritance(), pulled_.parameters, params_));
      if (done) protocol_.inherited();
      return ok();
    }
    unreported_ += std::exchange(pulled_.sums, {});
    auto answer = next.what == pull_turn      ? params_.pull_turn()
                  : next.what == pull_exactly ? params_.pull_exactly(next.version)
                                              : params_.pull(next.version);
    if (!answer.has_value() && task_.stop.stop_requested()) return ok();
    TRY_ASSIGN(pulled_, task_.cause.of(Reason::peer_lost, std::move(answer)));
    take_in();
    return ok();
  }

  // Of updates that others made before this task came only the staleness is told, which is of the
  // whole attempt: examples and losses belong to no interval of the chief's.
  void forget_what_was_before() {
    unreported_ += std::exchange(pulled_.sums, {});
    unreported_ = {.stale = unreported_.stale};
  }

  void take_in() {
    protocol_.take({.version = pulled_.version,
                    .oldest = pulled_.oldest,
                    .newest = pulled_.newest,
                    .rank_step = pulled_.rank_step,
                    .rank_step_max = pulled_.rank_step_max,
                    .turn = pulled_.turn,
                    .asked_snapshot = pulled_.asked_snapshot,
                    .was_cut = pulled_.was_cut,
                    .inheritance = pulled_.inheritance});
  }

  Status steps(Chief* chief) {
    const TrainingSpec& training = task_.context.spec.training;
    const Sampler sampler(training.seed, dataset_.size(Split::train));
    const Leaves owned = own_leaves(task_, plan_);
    Prefetcher batches(dataset_, sampler,
                       {.first_leaf = owned.begin,
                        .leaf_count = owned.count(),
                        .leaves = plan_.leaves,
                        .batch_size = leaf_examples(training),
                        .first_step = next_step(),
                        .last_step = sync() ? plan_.max_steps : BatchPlan{}.last_step});
    const std::stop_callback on_stop(task_.stop, [&batches] { batches.stop(); });
    batches.start();
    for (;;) {
      const StepProtocol::Ask next = protocol_.next();
      if (next.what == StepProtocol::Ask::What::nothing) return ok();
      if (next.what != StepProtocol::Ask::What::push) {
        TRY(ask(next));
        if (task_.stop.stop_requested()) return ok();
        continue;
      }
      times_ = {};
      // Others may have made steps without this worker's gradient, or with one that an heir made.
      if (sync()) batches.skip_to(next_step());
      Contribution contribution{.step = next_step(), .sums = {}, .gradient = gradient_};
      TRY_ASSIGN(const bool computed, compute(batches, contribution, chief));
      if (!computed) return ok();  // asked to stop
      TRY(exchange(contribution, chief));
      if (task_.stop.stop_requested()) return ok();  // the gradient may be on its way still
    }
  }

  // The gradients of a step's nodes, one after another; false when asked to stop. The last one may
  // be on its way already when this returns.
  Result<bool> compute(Prefetcher& batches, Contribution& contribution, Chief* chief) {
    const auto start = StepTimes::Clock::now();
    BatchSums& sums = contribution.sums;
    row_parts_.assign(nodes_.size(), {});
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      part_ = static_cast<std::int64_t>(i);
      const NodeSum sum{gradient_->span().subspan(i * elements_, elements_), row_parts_[i]};
      // Of a table the rows' gradients have to be there first.
      const bool streams = row_width_ == 0 && params_.can_begin_push();
      begin_ = nullptr;
      const auto leaf = [&](std::int64_t number, NodeSum of) {
        if (streams && number + 1 == nodes_.back().end) {
          begin_ = [this, chief, &contribution] {
            asked_ = complete(contribution, chief);
            return asked_.has_value() && params_.begin_push(contribution);
          };
        }
        return next_leaf(of, batches, sums);
      };
      TRY_ASSIGN(const bool done, node_sums_.add_up(nodes_[i], sum, leaf));
      if (!done) return false;
    }
    times_.compute = StepTimes::Clock::now() - start - times_.input - times_.pull;
    TRY(check_finite(task_, contribution));
    return true;
  }

  Result<bool> next_leaf(NodeSum sum, Prefetcher& batches, BatchSums& sums) {
    const auto start = StepTimes::Clock::now();
    const Batch* const batch = batches.next();
    times_.input += StepTimes::Clock::now() - start;
    ENSURE(batch != nullptr || task_.stop.stop_requested());  // the last step's was the last
    if (batch == nullptr) return false;
    return leaf_gradient(*batch, sum, sums);
  }

  // False when asked to stop while it waits for rows.
  Result<bool> leaf_gradient(const Batch& batch, NodeSum sum, BatchSums& sums) {
    RowBatch* rows = nullptr;
    if (row_width_ > 0) {
      rows = &rows_;
      rows_.assign(batch.sparse);
      const auto start = StepTimes::Clock::now();
      Status read = look_up_rows(batch.sparse);
      times_.pull += StepTimes::Clock::now() - start;
      if (!read.has_value() && task_.stop.stop_requested()) return false;
      TRY(task_.cause.of(Reason::peer_lost, std::move(read)));
    }
    FinalTail tail(plan_.model.variables());
    bool begun = false;
    Status there = ok();
    const GradientNews news{.on_need =
                                [&](std::size_t variable) {
                                  if (there.has_value()) there = await(variable);
                                },
                            .on_result =
                                [&](const BatchResult& result) {
                                  sums += {.examples = result.examples,
                                           .loss_sum = result.loss_sum,
                                           .correct = result.correct};
                                  const bool counts =
                                      there.has_value() && std::isfinite(sums.loss_sum);
                                  if (begin_ && counts) begun = begin_();
                                },
                            .on_final =
                                [&](std::size_t variable) {
                                  if (!begun) return;
                                  const std::int64_t from = tail.add(variable);
                                  node_sums_.settle(static_cast<std::size_t>(from));
                                  params_.release(from);
                                }};
    plan_.model.gradient(pulled_.parameters, batch, sum.dense, news, rows);
    if (!there.has_value() && task_.stop.stop_requested()) return false;
    TRY(task_.cause.of(Reason::peer_lost, std::move(there)));
    TRY(std::exchange(asked_, ok()));
    if (rows != nullptr && !params_.pools_rows()) sum.rows = rows->gradients();
    return true;
  }

  Status look_up_rows(const SparseRows& x) {
    if (!params_.pools_rows()) return params_.look_up_rows(part_, rows_.ids(), rows_.rows());
    TRY_ASSIGN(PooledBags pooled, params_.look_up_bags(rows_.bags(x)));
    rows_.take(std::move(pooled));
    return ok();
  }

  // Until the parameters of this variable are there, which may follow those of the layers before.
  Status await(std::size_t variable) {
    const Variable& needed = plan_.model.variables()[variable];
    const auto start = StepTimes::Clock::now();
    Status there = params_.await_parameters(needed.offset + needed.elements);
    times_.pull += StepTimes::Clock::now() - start;
    return there;
  }

  // In async one ps may be at its last version before the others: what is evaluated must be what is
  // saved, on all of them.
  Status finish(Chief& chief) {
    unreported_ += pulled_.sums;
    TRY_ASSIGN(pulled_, task_.cause.of(Reason::peer_lost, params_.pull_master(plan_.max_steps)));
    pulled_.sums += std::exchange(unreported_, {});
    return chief.finish(pulled_);
  }

  // A checkpoint of sync training needs the residuals of all ranks: it is announced a step ahead,
  // so that their pushes carry them. All know by themselves which step is the last.
  [[nodiscard]] bool announces() const { return sync() && plan_.wire == Wire::onebit; }

  Status ask(Chief& chief, Contribution& contribution) {
    const std::int64_t next = pulled_.version + 1;
    if (announces()) {
      TRY_ASSIGN(contribution.announced_snapshot, chief.snapshot_step(next + 1));
    } else {
      TRY_ASSIGN(const std::int64_t step, chief.snapshot_step(next));
      protocol_.ask_snapshot(step);
    }
    return ok();
  }

  void add_residuals(Contribution& contribution) {
    if (plan_.wire != Wire::onebit) return;
    const std::int64_t next = pulled_.version + 1;
    contribution.residuals =
        contribution.snapshot_step > 0 || (announces() && next == plan_.max_steps);
    contribution.residual_scale = residual_scale(task_.context.spec.training.optimizer,
                                                 residual_step_, next, plan_.max_steps);
    residual_step_ = next;
  }

  // With what its frame says of checkpoints: as late as it can be, since the one before may still
  // be written.
  Status complete(Contribution& contribution, Chief* chief) {
    if (chief != nullptr) TRY(ask(*chief, contribution));
    contribution.snapshot_step = protocol_.next().snapshot_step;
    contribution.holds = chief != nullptr && chief->holds_after(contribution.snapshot_step);
    add_residuals(contribution);
    return ok();
  }

  Status exchange(Contribution& contribution, Chief* chief) {
    if (!std::exchange(begin_, nullptr)) TRY(complete(contribution, chief));
    const auto start = StepTimes::Clock::now();
    if (row_width_ > 0) {
      Status pushed = params_.pools_rows()
                          ? params_.push_bags(contribution.step, rows_.vector_gradients())
                          : params_.push_rows(contribution.step, std::move(row_parts_));
      if (!pushed.has_value() && task_.stop.stop_requested()) return ok();
      TRY(task_.cause.of(Reason::peer_lost, std::move(pushed)));
      times_.push = StepTimes::Clock::now() - start;
    }
    const auto rows_are_there = StepTimes::Clock::now();
    auto answer = params_.push_pull(contribution);
    if (!answer.has_value() && task_.stop.stop_requested()) return ok();
    TRY_ASSIGN(pulled_, task_.cause.of(Reason::peer_lost, std::move(answer)));
    take_in();
    TRY(stand_in());
    if (task_.stop.stop_requested()) return ok();
    const Seconds computed = heir_.take_computing();
    times_.compute += computed;
    times_.add_exchange(StepTimes::Clock::now() - rows_are_there - computed, pulled_.times);
    if (!pulled_.contributed) ++dropped_;
    if (chief == nullptr) return ok();
    pulled_.sums += std::exchange(unreported_, {});
    TRY(chief->after_step(pulled_, times_));
    pulled_.sums = {};
    return ok();
  }

  // Until the answer to the push is there, what the ps ask for first.
  Status stand_in() {
    Traffic traffic;
    ExchangeTimes times;
    while (protocol_.stands_in() && !task_.stop.stop_requested()) {
      traffic += std::exchange(pulled_.traffic, {});
      times += std::exchange(pulled_.times, {});
      TRY(ask(protocol_.next()));
    }
    pulled_.traffic += traffic;
    pulled_.times += times;
    return ok();
  }

  const Task& task_;
  JobPlan& plan_;
  const Dataset& dataset_;
  ParamsChannel& params_;
  const std::vector<Leaves> nodes_;
  const std::size_t elements_;               // of the arena
  const std::int64_t row_width_;             // of the embedding table; 0: the model has none
  RowBatch rows_;                            // of the leaf that is computed
  std::int64_t part_ = 0;                    // of the push: the node that is computed
  std::vector<RowGradients> row_parts_;      // of each node
  std::shared_ptr<AlignedBuffer> gradient_;  // of each node; shared with gRPC while it sends
  NodeSums node_sums_;
  Heir heir_;
  StepProtocol protocol_;
  // Begins to send while the step's last leaf is computed; empty: all is sent when it is whole.
  std::function<bool()> begin_;
  Status asked_ = ok();  // by it, for what the frame says
  Pulled pulled_;
  BatchSums unreported_;            // of answers that were no step's
  StepTimes times_;                 // of the step under way
  std::int64_t residual_step_ = 0;  // onebit: that the residuals were left over from
  std::int64_t dropped_ = 0;        // contributions that came too late
};

}  // namespace

Result<TaskEnd> run_worker(const Task& task) {
  const JobSpec& spec = task.context.spec;
  const bool again = task.context.tasks_return && task.events.goes_on();
  TRY(task.phase(PhaseEvent::Phase::starting,
                 again ? "its process died and was started again" : ""));
  TRY_ASSIGN(const auto dataset,
             task.cause.of(Reason::bad_data, open_dataset(spec.dataset, spec.training.seed,
                                                          DataCache(task.context.data_cache))));
  TRY(task.cause.of(Reason::bad_data, dataset->prepare(Split::train)));
  TRY_ASSIGN(JobPlan plan, task.cause.of(Reason::bad_data, plan_job(spec, shape_of(*dataset),
                                                                    leaf_examples(spec.training))));
  TRY_ASSIGN(const auto own, OwnShare::open(task, plan));
  TRY_ASSIGN(auto params, open_params(task, plan));
  TRY_ASSIGN(const TaskEnd end, Training(task, plan, *dataset, *params).run());
  params.reset();  // the streams to peers end in good order before their own share does
  if (end == TaskEnd::completed) TRY(task.cause.of(Reason::peer_lost, own->finish(task.stop)));
  return end;
}

}  // namespace trainyard::runtime
