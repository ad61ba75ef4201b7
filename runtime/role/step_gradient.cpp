#include "runtime/role/step_gradient.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <utility>

#include "runtime/core/schedule.h"
#include "runtime/model/culprit.h"
#include "runtime/model/final_part.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

BatchPlan batches_of(const JobPlan& plan, Leaves leaves, std::int64_t first_step) {
  return {.first_leaf = leaves.begin,
          .leaf_count = leaves.count(),
          .leaves = plan.leaves,
          .batch_size = plan.leaf_examples,
          .first_step = first_step,
          .last_step = plan.mode == Mode::sync ? plan.max_steps : BatchPlan{}.last_step};
}

ModelGradient::ModelGradient(const GradientParts& parts, std::int64_t rank, StepRows* rows)
    : parts_(parts),
      leaves_(parts.plan.leaves_of_rank(rank)),
      nodes_(parts.plan.nodes_of_rank(rank)),
      rows_(rows),
      sums_({.elements = index_of(parts.plan.model.arena_elements()),
             .state = index_of(std::min(parts.plan.model.arena_elements(), parts.plan.state_begin)),
             .row_widths = RowWidths(parts.plan.model.rows())}) {
  std::int64_t most = 1;
  for (const Leaves& node : nodes_) most = std::max(most, node.count());
  adds_on_device_ = most > 1 && parts.plan.model.adds_up(most);
}

void ModelGradient::start(std::int64_t first_step) {
  const Dataset& dataset = parts_.dataset;
  const Sampler sampler(parts_.task.context.spec.training.seed, dataset.size(Split::train));
  batches_ =
      std::make_unique<Prefetcher>(dataset, sampler, batches_of(parts_.plan, leaves_, first_step));
  batches_->start();
}

// Its nodes, one after another.
Result<bool> ModelGradient::add_up(WorkerStep& step) {
  step_ = &step;
  step.rows.resize(nodes_.size());
  batches_->skip_to(step.number);  // others may have made steps without this worker's gradient
  const std::size_t elements = index_of(parts_.plan.model.arena_elements());
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const auto place = parts_.exchange.exchange().gradient().subspan(i * elements, elements);
    rounded_ = parts_.exchange.exchange().rounded_gradient(static_cast<std::int64_t>(i));
    TRY_ASSIGN(const bool done, add_up_node(nodes_[i], {place, step.rows[i]}));
    if (!done) return false;
  }
  return true;
}

Result<bool> ModelGradient::add_up_node(const Leaves& node, NodeSum sum) {
  const auto leaf = [this](std::int64_t number, NodeSum of) {
    is_last_leaf_ = number + 1 == nodes_.back().end;
    return next_leaf(of);
  };
  leaf_.reset();
  if (!adds_on_device_ || node.count() == 1) return sums_.add_up(node, sum, leaf);
  for (std::int64_t number = node.begin; number < node.end; ++number) {
    leaf_ = {.is_first = number == node.begin,
             .is_last = number + 1 == node.end,
             .ends = nodes_that_end_with(number, node)};
    TRY_ASSIGN(const bool done, leaf(number, sum));
    if (!done) return false;
  }
  return true;
}

Result<bool> ModelGradient::next_leaf(NodeSum sum) {
  const auto start = StepTimes::Clock::now();
  auto next = batches_->next();
  parts_.exchange.times().input += StepTimes::Clock::now() - start;
  TRY_ASSIGN(const Batch* const batch, parts_.task.cause.of(Reason::bad_data, std::move(next)));
  ENSURE(batch != nullptr || parts_.task.stop.stop_requested());  // the last step's was the last
  if (batch == nullptr) return false;
  return leaf_gradient(*batch, sum);
}

// False when asked to stop while it waits for parameters.
Result<bool> ModelGradient::leaf_gradient(const Batch& batch, NodeSum sum) {
  TimedExchange& exchange = parts_.exchange;
  RowBatch* rows = nullptr;
  if (rows_ != nullptr) {
    rows = &rows_->batch();
    TRY_ASSIGN(const bool read, read_rows(batch));
    if (!read) return false;
  }
  FinalPart final_part(parts_.plan.model.variables());
  Status there = ok();
  bool streams = false;
  const auto on_need = [&](std::size_t variable) {
    if (there.has_value()) there = exchange.await(variable);
  };
  const auto on_result = [&](const BatchResult& result) {
    if (there.has_value()) there = exchange.await_state();
    add_result(result);
    streams = can_stream() && there.has_value() && std::isfinite(step_->sums.loss_sum);
    if (streams) step_->told = exchange.tell(step_->number, step_->sums);
  };
  const auto settle = [&](std::int64_t from) {
    if (!streams || from == 0) return;  // the last of it when all is well
    if (!leaf_) sums_.settle(index_of(from));
    exchange.settle(from);
  };
  const auto on_final = [&](std::size_t variable) { settle(final_part.add(variable)); };
  const StepExchange& of = exchange.exchange();
  std::function<void(std::size_t, std::int64_t)> on_final_from;
  if (can_stream() && of.goes_by_tcp()) {
    on_final_from = [&](std::size_t variable, std::int64_t element) {
      settle(final_part.add_part(variable, element));
    };
  }
  parts_.plan.model.gradient(of.parameters(), batch, sum.dense,
                             {.on_need = on_need,
                              .on_result = on_result,
                              .on_final = on_final,
                              .on_final_from = on_final_from,
                              .leaf = leaf_,
                              .bfloat16 = rounded_,
                              .parameters_stay = of.parameters_stay()},
                             rows);
  if (!there.has_value() && parts_.task.stop.stop_requested()) return false;
  TRY(parts_.task.cause.of(Reason::peer_lost, std::move(there)));
  if (step_->told) TRY(*step_->told);
  // No gradient of such a step leaves, so its parameters are still there.
  if (!std::isfinite(step_->sums.loss_sum) && step_->why_lost.empty()) {
    step_->why_lost = why_lost(parts_, step_->number, batch, rows);
  }
  if (rows != nullptr && rows_->sums_here()) sum.rows = rows->gradients();
  return true;
}

void ModelGradient::add_result(const BatchResult& result) {
  step_->sums += {.examples = result.examples,
                  .denominator = result.denominator,
                  .loss_sum = result.loss_sum,
                  .metrics = result.metrics};
}

// Of a table the rows' gradients have to be there first, and a norm is that of the whole gradient.
bool ModelGradient::can_stream() const {
  return is_last_leaf_ && rows_ == nullptr && !parts_.plan.clips_pushes();
}

// Those of the batch. False when asked to stop.
Result<bool> ModelGradient::read_rows(const Batch& batch) {
  const auto start = StepTimes::Clock::now();
  Status read = rows_->read(step_->number, batch);
  parts_.exchange.times().pull += StepTimes::Clock::now() - start;
  return parts_.exchange.unless_stopped(std::move(read));
}

std::string why_lost(const GradientParts& parts, std::int64_t step, const Batch& batch,
                     RowBatch* rows) {
  const JobSpec& spec = parts.task.context.spec;
  const std::string first =
      first_not_finite({.model = spec.model,
                        .data = parts.dataset.shape(),
                        .seed = spec.training.seed,
                        .parameters = parts.exchange.exchange().parameters_on_host(),
                        .batch = batch,
                        .rows = rows});
  const double rate = learning_rate_at(spec.training.optimizer, step, parts.plan.max_steps);
  std::ostringstream text;
  if (!first.empty()) text << ": " << first;
  text << "; the learning rate is " << rate;
  return text.str();
}

}  // namespace trainyard::runtime
