// The roles worker and chief: batch, gradient, push, new parameters, until the last step. One loop
// for sync and async, for ps and for none: what differs is behind ParamsChannel.
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/data/prefetch.h"
#include "runtime/net/local_params.h"
#include "runtime/net/remote_params.h"
#include "runtime/role/checkpoint_files.h"
#include "runtime/role/chief.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/task.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

Result<std::unique_ptr<ParamsChannel>> local_params(const Task& task, const JobPlan& plan) {
  TRY_ASSIGN(StartingShare share,
             task.cause.of(Reason::checkpoint_lost, starting_share(task.context, plan, 0)));
  return std::unique_ptr<ParamsChannel>(
      std::make_unique<LocalParams>(plan.rules(task.context.spec), std::move(share.shard),
                                    std::move(share.start), shard_files(task, plan, 0)));
}

Result<std::unique_ptr<ParamsChannel>> remote_params(const Task& task, const JobPlan& plan) {
  const TaskContext& context = task.context;
  const std::int64_t rank = training_rank(context);
  const auto limit = std::chrono::seconds(context.spec.run_policy.no_progress_timeout_seconds);
  TRY_ASSIGN(std::unique_ptr<RemoteParams> params,
             task.cause.of(Reason::peer_lost,
                           RemoteParams::connect({.ps = context.cluster.ps,
                                                  .token = context.token,
                                                  .rank = rank,
                                                  .arena_elements = plan.model.arena_elements(),
                                                  .connect_limit = limit,
                                                  .exchange_limit = limit,
                                                  .stop = task.stop})));
  for (std::size_t i = 0; i < context.cluster.ps.size(); ++i) {
    log_info("connected", {{"ps", context.cluster.ps[i]}, {"transport", params->transports()[i]}});
  }
  return std::unique_ptr<ParamsChannel>(std::move(params));
}

// The loop and what it works on.
class Training {
 public:
  Training(const Task& task, JobPlan& plan, const Dataset& dataset, ParamsChannel& params)
      : task_(task),
        plan_(plan),
        dataset_(dataset),
        params_(params),
        parameters_(static_cast<std::size_t>(plan.model.arena_elements())),
        gradient_(params.gradient_buffer(parameters_.size())) {}

  Result<TaskEnd> run() {
    TRY_ASSIGN(pulled_, task_.cause.of(Reason::peer_lost, params_.pull(0, parameters_.span())));
    log_info("training", {{"version", pulled_.version}, {"max_steps", plan_.max_steps}});
    TRY(task_.phase(PhaseEvent::Phase::running));

    std::optional<Chief> chief;
    if (is_chief(task_.context)) {
      chief.emplace(Chief::Parts{task_, plan_, dataset_, params_}, pulled_.version);
    }
    TRY(steps(chief ? &*chief : nullptr));
    if (task_.stop.stop_requested()) return TaskEnd::stopped;
    if (chief) TRY(finish(*chief));
    log_info("training is over", {{"version", pulled_.version}});
    return TaskEnd::completed;
  }

 private:
  [[nodiscard]] bool sync() const { return task_.context.spec.mode == Mode::sync; }
  [[nodiscard]] std::int64_t next_step() const {
    return (sync() ? pulled_.version : pulled_.rank_step) + 1;
  }

  Status steps(Chief* chief) {
    const TrainingSpec& training = task_.context.spec.training;
    const Sampler sampler(training.seed, dataset_.size(Split::train));
    Prefetcher batches(dataset_, sampler,
                       {.rank = training_rank(task_.context),
                        .workers = plan_.ranks,
                        .batch_size = training.batch_size,
                        .first_step = next_step()});
    const std::stop_callback on_stop(task_.stop, [&batches] { batches.stop(); });
    batches.start();
    while (pulled_.version < plan_.max_steps) {
      const Batch* const batch = batches.next();
      if (batch == nullptr) return ok();  // asked to stop
      TRY(step(*batch, chief));
    }
    return ok();
  }

  // In async one ps may be at its last version before the others: what is evaluated must be what is
  // saved, on all of them.
  Status finish(Chief& chief) {
    TRY_ASSIGN(pulled_, task_.cause.of(Reason::peer_lost,
                                       params_.pull(plan_.max_steps, parameters_.span())));
    return chief.finish(pulled_, parameters_.span());
  }

  Status step(const Batch& batch, Chief* chief) {
    const BatchResult result = plan_.model.gradient(parameters_.span(), batch, gradient_->span());
    if (!std::isfinite(result.loss_sum)) {
      return task_.cause.of(Reason::nan_loss,
                            Status(invalid("the loss of step " + std::to_string(next_step()) +
                                           " is not a finite number")));
    }
    Contribution contribution{.step = next_step(),
                              .sums = {.examples = result.examples,
                                       .loss_sum = result.loss_sum,
                                       .correct = result.correct},
                              .gradient = gradient_};
    if (chief != nullptr) {
      TRY_ASSIGN(contribution.snapshot_step, chief->snapshot_step(pulled_.version + 1));
    }
    auto answer = params_.push_pull(contribution, parameters_.span());
    if (!answer.has_value() && task_.stop.stop_requested()) return ok();
    TRY_ASSIGN(pulled_, task_.cause.of(Reason::peer_lost, std::move(answer)));
    if (chief == nullptr) return ok();
    return chief->after_step(pulled_, parameters_.span());
  }

  const Task& task_;
  JobPlan& plan_;
  const Dataset& dataset_;
  ParamsChannel& params_;
  AlignedBuffer parameters_;
  std::shared_ptr<AlignedBuffer> gradient_;  // shared with gRPC while it sends
  Pulled pulled_;
};

}  // namespace

Result<TaskEnd> run_worker(const Task& task) {
  const JobSpec& spec = task.context.spec;
  TRY(task.phase(PhaseEvent::Phase::starting));
  TRY_ASSIGN(const auto dataset,
             task.cause.of(Reason::bad_data, open_dataset(spec.dataset, spec.training.seed)));
  TRY_ASSIGN(JobPlan plan, task.cause.of(Reason::bad_data, plan_job(spec, facts_of(*dataset),
                                                                    spec.training.batch_size)));
  const bool local = spec.training.strategy == Strategy::local;
  TRY_ASSIGN(const auto params, local ? local_params(task, plan) : remote_params(task, plan));
  return Training(task, plan, *dataset, *params).run();
}

}  // namespace trainyard::runtime
