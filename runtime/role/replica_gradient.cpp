#include "runtime/role/replica_gradient.h"

#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

Result<std::unique_ptr<ReplicaGradient>> ReplicaGradient::open(const GradientParts& parts,
                                                               std::int64_t rank,
                                                               std::vector<Model>& others) {
  const std::int64_t gpus = std::ssize(others) + 1;
  const std::int64_t leaves = parts.plan.leaves_of_rank(rank).count();
  if (gpus > leaves) {
    return invalid("a worker with " + std::to_string(gpus) +
                   " GPUs needs as many micro-batches in a step at least, it has " +
                   std::to_string(leaves));
  }
  Replicas::Setting setting{.models = {&parts.plan.model}, .nodes = parts.plan.nodes_of_rank(rank)};
  for (Model& model : others) setting.models.push_back(&model);
  return std::unique_ptr<ReplicaGradient>(new ReplicaGradient(parts, std::move(setting)));
}

// The models' own threads copy for their devices meanwhile: as many as these in all.
ReplicaGradient::ReplicaGradient(const GradientParts& parts, Replicas::Setting setting)
    : parts_(parts),
      first_leaf_(setting.nodes.front().begin),
      nodes_(std::ssize(setting.nodes)),
      team_({.threads = std::ssize(setting.models) * parts.plan.model.threads().count()}),
      replicas_({.models = setting.models,
                 .nodes = std::move(setting.nodes),
                 .threads = team_,
                 .resident = parts.exchange.exchange().resident()}),
      readers_(setting.models.size()) {}

Sampler ReplicaGradient::sampler() const {
  return {parts_.task.context.spec.training.seed, parts_.dataset.size(Split::train)};
}

void ReplicaGradient::start(std::int64_t first_step) {
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    const BatchPlan plan = batches_of(parts_.plan, replicas_.leaves_of_replica(i), first_step);
    readers_[i].batches = std::make_unique<Prefetcher>(parts_.dataset, sampler(), plan);
    readers_[i].batches->start();
  }
  replicas_.start();
}

void ReplicaGradient::stop() {
  for (Reader& reader : readers_) reader.batches->stop();
}

Result<bool> ReplicaGradient::add_up(WorkerStep& step) {
  StepExchange& exchange = parts_.exchange.exchange();
  StepTimes& times = parts_.exchange.times();
  lost_leaf_.reset();
  for (Reader& reader : readers_) reader.batches->skip_to(step.number);
  const Seconds pushed_before = times.push;
  const Seconds read_before = readers_.front().waited;
  rounded_.clear();
  for (std::int64_t part = 0; part < nodes_ && !exchange.rounded_gradient(0).empty(); ++part) {
    rounded_.push_back(exchange.rounded_gradient(part));
  }
  Result<bool> done = replicas_.add_up(
      {.parameters = exchange.parameters(),
       .parameters_stay = exchange.parameters_stay(),
       .sums = exchange.resident() == nullptr ? exchange.gradient() : std::span<float>(),
       .rounded = rounded_,
       .next_batch = [this](std::size_t replica) { return next_batch(replica); },
       .await = [&](std::int64_t end) { return exchange.await_parameters(end); },
       .on_results = [&](std::span<const BatchResult> results) { return tell(step, results); },
       .settle = [this](std::int64_t from) { parts_.exchange.settle(from); }});
  times.pull += replicas_.waited();
  times.input += readers_.front().waited - read_before;
  step.beside = times.push - pushed_before;
  if (step.told) TRY(*step.told);
  for (Reader& reader : readers_) {
    TRY(parts_.task.cause.of(Reason::bad_data, std::exchange(reader.fault, ok())));
  }
  if (!done.has_value() && parts_.task.stop.stop_requested()) return false;
  TRY_ASSIGN(const bool is_whole, parts_.task.cause.of(Reason::peer_lost, std::move(done)));
  ENSURE(is_whole || parts_.task.stop.stop_requested());  // the last step's batches were the last
  // Now that no replica uses a device that may have the parameters.
  if (lost_leaf_) step.why_lost = words_of_loss(step.number, *lost_leaf_);
  return is_whole;
}

// On the thread of the replica.
const Batch* ReplicaGradient::next_batch(std::size_t replica) {
  Reader& reader = readers_[replica];
  const auto start = StepTimes::Clock::now();
  auto next = reader.batches->next();
  reader.waited += StepTimes::Clock::now() - start;
  if (next.has_value()) return *next;
  reader.fault = std::move(next).error();
  return nullptr;
}

// In the order of leaves, whoever computed them: sums of doubles. Nothing leaves of a step whose
// loss is no number, so its parameters are still there.
Result<Replicas::Step::Then> ReplicaGradient::tell(WorkerStep& step,
                                                   std::span<const BatchResult> results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    const BatchResult& result = results[i];
    step.sums += {.examples = result.examples,
                  .denominator = result.denominator,
                  .loss_sum = result.loss_sum,
                  .metrics = result.metrics};
    if (std::isfinite(step.sums.loss_sum)) continue;
    lost_leaf_ = first_leaf_ + static_cast<std::int64_t>(i);
    return Replicas::Step::Then::waits;
  }
  step.told = parts_.exchange.tell(step.number, step.sums);
  TRY(*step.told);
  return Replicas::Step::Then::streams;
}

// The replica may have gone on to another batch: this one is read again.
std::string ReplicaGradient::words_of_loss(std::int64_t step, std::int64_t leaf) const {
  Batch batch;
  const BatchPlan plan = batches_of(parts_.plan, {leaf, leaf + 1}, step);
  if (!read_batch(parts_.dataset, sampler(), plan, step, leaf, batch).has_value()) return "";
  return why_lost(parts_, step, batch, nullptr);
}

}  // namespace trainyard::runtime
