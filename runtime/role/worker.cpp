// The roles worker and chief: batch, gradient, new parameters, until the last step. One loop for
// sync and async, for ps and for none: what differs is behind StepExchange.
#include <algorithm>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "runtime/role/chief.h"
#include "runtime/role/compute_devices.h"
#include "runtime/role/finite_check.h"
#include "runtime/role/holders.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/open_exchange.h"
#include "runtime/role/own_share.h"
#include "runtime/role/partition_report.h"
#include "runtime/role/replica_gradient.h"
#include "runtime/role/step_gradient.h"
#include "runtime/role/step_rows.h"
#include "runtime/role/task.h"
#include "runtime/role/timed_exchange.h"
#include "schemas/base/log.h"
#include "schemas/wire/job_model.h"

namespace trainyard::runtime {
namespace {

// The loop and what it works on.
class Training {
 public:
  struct Parts {
    const Task& task;
    JobPlan& plan;
    std::vector<Model>& others;  // the plan's model on other GPUs; none: one model computes
    const Dataset& dataset;
    StepExchange& exchange;
    const ComputeDevices& devices;
    const OwnShare& share;
  };
  explicit Training(const Parts& parts)
      : task_(parts.task),
        devices_(parts.devices),
        share_(parts.share),
        plan_(parts.plan),
        others_(parts.others),
        dataset_(parts.dataset),
        exchange_(parts.exchange),
        calls_(task_, plan_, exchange_),
        rank_(training_rank(task_.context)) {}

  Result<TaskEnd> run() {
    TRY_ASSIGN(auto next, calls_.next());
    if (!next) return TaskEnd::stopped;
    const ExchangeNews before = exchange_.take_news();
    calls_.set_residual_step(next->step - 1);
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
      chief.emplace(Chief::Parts{.task = task_,
                                 .plan = plan_,
                                 .dataset = dataset_,
                                 .exchange = exchange_,
                                 .rows = rows,
                                 .computed_on = devices_.fingerprint,
                                 .gpus = std::ssize(devices_.gpus)},
                    before);
      chief_ = &*chief;
      calls_.set_chief(*chief);
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
    if (devices_.detail.empty()) return routes;
    std::string detail = "computes " + devices_.detail;
    const std::string before = exchange_.computed_on();
    if (!devices_.fingerprint.empty() && !before.empty() && before != devices_.fingerprint) {
      detail +=
          "; its checkpoint was computed on " + before + ": from here on last bits are others";
    }
    if (stays_with_host()) {
      detail += "; its parameters stay with the host: ";
      detail += plan_.model.rows().empty() ? "the GPU has too little memory for them"
                                           : "the model has tables of rows";
    }
    if (share_.lacks_memory()) {
      detail +=
          "; its share of the parameters stays with the host: the GPU has too little memory "
          "for it";
    }
    return detail + (routes.empty() ? "" : "; " + routes);
  }

  [[nodiscard]] bool stays_with_host() const {
    return task_.context.spec.training.strategy == Strategy::local && !devices_.gpus.empty() &&
           exchange_.resident() == nullptr;
  }

  // False when asked to stop.
  Result<bool> steps(NextStep next) {
    if (next.is_over) return true;  // others have made all of them; there is no step to read for
    TRY_ASSIGN(const auto gradient, open_gradient());
    gradient->start(next.step);
    const std::stop_callback on_stop(task_.stop, [&gradient] { gradient->stop(); });
    while (!next.is_over) {
      if (chief_ != nullptr) TRY(chief_->before_step(next.step));
      if (task_.stop.stop_requested()) return false;
      step_ = {.number = next.step};
      TRY_ASSIGN(const bool done, step(*gradient));
      if (!done) return false;
      if (chief_ != nullptr)
        chief_->progress().add_own_step(std::exchange(calls_.times(), {}), step_.sums.examples);
      TRY_ASSIGN(const auto following, calls_.next());
      if (!following) return false;
      next = *following;
    }
    return true;
  }

  Result<std::unique_ptr<StepGradient>> open_gradient() {
    const GradientParts parts{task_, plan_, dataset_, calls_};
    if (others_.empty()) {
      return std::unique_ptr<StepGradient>(
          std::make_unique<ModelGradient>(parts, rank_, rows_ ? &*rows_ : nullptr));
    }
    TRY_ASSIGN(auto replicas,
               task_.cause.of(Reason::no_gpu, ReplicaGradient::open(parts, rank_, others_)));
    return std::unique_ptr<StepGradient>(std::move(replicas));
  }

  // False when asked to stop.
  Result<bool> step(StepGradient& gradient) {
    const auto start = StepTimes::Clock::now();
    StepTimes& times = calls_.times();
    const StepTimes before = times;
    TRY_ASSIGN(const bool done, gradient.add_up(step_));
    if (!done) return false;
    TRY(check_loss(task_, step_.number, step_.sums.loss_sum, [this] { return step_.why_lost; }));
    if (!step_.told) TRY(calls_.tell(step_.number, step_.sums));
    TRY_ASSIGN(const bool pushed, push_rows(std::move(step_.rows)));
    if (!pushed) return false;
    if (plan_.clips_pushes()) clip_push();
    calls_.settle(0);
    TRY(check_gradient(task_, step_.number, exchange_.is_finite()));
    const Seconds elsewhere =
        (times.input - before.input) + (times.pull - before.pull) + (times.push - before.push);
    times.compute += StepTimes::Clock::now() - start - elsewhere + step_.beside;
    return true;
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

  // Ahead of all else of the step. False when asked to stop.
  Result<bool> push_rows(std::vector<RowGradients> parts) {
    if (!rows_) return true;
    TRY(check_gradient(task_, step_.number, rows_->is_finite(parts)));
    const auto start = StepTimes::Clock::now();
    Status pushed = rows_->push({.number = step_.number, .snapshot = exchange_.marked_snapshot()},
                                std::move(parts));
    calls_.times().push += StepTimes::Clock::now() - start;
    if (chief_ != nullptr) chief_->progress().add_traffic(rows_->exchange().take_traffic());
    return calls_.unless_stopped(std::move(pushed));
  }

  const Task& task_;
  const ComputeDevices& devices_;
  const OwnShare& share_;
  JobPlan& plan_;
  std::vector<Model>& others_;
  const Dataset& dataset_;
  StepExchange& exchange_;
  TimedExchange calls_;
  const std::int64_t rank_;
  std::optional<StepRows> rows_;  // of an embedding table; the model has none: nothing
  Chief* chief_ = nullptr;        // none: this task is not it
  WorkerStep step_;               // that is computed
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

// Those of each GPU's model, which copy for it.
std::int64_t threads_of_each(const Task& task, const ComputeDevices& devices) {
  const auto gpus = std::max<std::int64_t>(1, std::ssize(devices.gpus));
  return std::max<std::int64_t>(1, threads_of(task.context) / gpus);
}

// The plan's model once more on each GPU but the first.
Result<std::vector<Model>> models_on_others(const Task& task, const JobPlan& plan,
                                            const ComputeDevices& devices) {
  const JobSpec& spec = task.context.spec;
  const std::int64_t threads = threads_of_each(task, devices);
  std::vector<Model> models;
  for (std::size_t i = 1; i < devices.gpus.size(); ++i) {
    TRY_ASSIGN(Model model, Model::build(spec.model, plan.data,
                                         {.batch_size = plan.leaf_examples,
                                          .seed = spec.training.seed,
                                          .team = {.threads = threads},
                                          .device = devices.gpus[i].get()}));
    models.push_back(std::move(model));
  }
  return models;
}

struct Planned {
  JobPlan plan;
  std::vector<Model> others;
};

// All that takes a GPU's memory.
Result<Planned> planned_on(const Task& task, const Dataset& dataset,
                           const ComputeDevices& devices) {
  const JobSpec& spec = task.context.spec;
  Device* const gpu = devices.gpus.empty() ? nullptr : devices.gpus.front().get();
  TRY_ASSIGN(JobPlan plan, plan_job(spec, shape_of(dataset), leaf_examples(spec),
                                    threads_of_each(task, devices), gpu));
  TRY_ASSIGN(std::vector<Model> others, models_on_others(task, plan, devices));
  return Planned{std::move(plan), std::move(others)};
}

// Each GPU's batches are read by themselves, all at once.
Result<std::unique_ptr<Dataset>> open_data(const Task& task, const ComputeDevices& devices) {
  const JobSpec& spec = task.context.spec;
  const auto readers = std::max<std::int64_t>(1, std::ssize(devices.gpus));
  const std::int64_t threads = std::max<std::int64_t>(1, cpus_of(task.context) / readers);
  TRY_ASSIGN(auto dataset,
             open_dataset(spec.dataset, spec.training.seed, DataCache(task.context.data_cache),
                          threads, label_steps_of(spec)));
  TRY(dataset->prepare(Split::train));
  return dataset;
}

Result<TaskEnd> train(const Task& task) {
  const bool again = task.context.tasks_return && task.events.goes_on();
  TRY(task.phase(PhaseEvent::Phase::starting,
                 again ? "its process died and was started again" : ""));
  TRY_ASSIGN(ComputeDevices devices,
             task.cause.of(Reason::no_gpu, open_compute_devices(task.context)));
  TRY(task.cause.of(Reason::peer_differs, check_one_kind(devices)));
  TRY_ASSIGN(const auto dataset, task.cause.of(Reason::bad_data, open_data(task, devices)));
  const auto planned = [&] { return planned_on(task, *dataset, devices); };
  TRY_ASSIGN(auto made,
             task.cause.of(Reason::bad_data, with_enough_memory(task.context, devices, planned)));
  auto& [plan, others] = made;
  TRY_ASSIGN(OwnShare own, OwnShare::open(task, plan, devices));
  const Task until_failure = own.task();
  TRY_ASSIGN(auto exchange, open_exchange(until_failure, plan,
                                          {.others = others, .fingerprint = devices.fingerprint}));
  auto ended = Training({until_failure, plan, others, *dataset, *exchange, devices, own}).run();
  own.require_sound();
  if (exchange->differs_from_peers()) {
    return task.cause.of(Reason::peer_differs, std::move(ended));
  }
  TRY_ASSIGN(const TaskEnd end, std::move(ended));
  exchange.reset();  // the connections end in good order before its own share does
  if (end == TaskEnd::completed) TRY(task.cause.of(Reason::peer_lost, own.finish()));
  own.require_sound();
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
