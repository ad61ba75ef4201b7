// The same leaves, batches and order of addition as of the rank itself.
#include "runtime/role/heir.h"

#include <string>

#include "runtime/data/prefetch.h"
#include "runtime/role/finite_check.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {

Leaves leaves_of_rank(const JobSpec& spec, const JobPlan& plan, std::int64_t rank) {
  if (step_mode(spec) == Mode::async) return {rank, rank + 1};
  return leaves_of(rank, plan.ranks, plan.leaves);
}

std::vector<Leaves> nodes_of_rank(const JobSpec& spec, const JobPlan& plan, std::int64_t rank) {
  const Leaves owned = leaves_of_rank(spec, plan, rank);
  if (step_mode(spec) == Mode::async) return {owned};
  return sent_nodes(plan.wire, owned, plan.leaves);
}

Heir::Heir(const Task& task, JobPlan& plan, const Dataset& dataset, NodeSums& sums)
    : task_(task),
      plan_(plan),
      dataset_(dataset),
      sampler_(task.context.spec.training.seed, dataset.size(Split::train)),
      sums_(sums) {}

Result<bool> Heir::stand_in(const Inheritance& asked, std::span<const float> parameters,
                            ParamsChannel& params) {
  for (const std::int64_t rank : asked.ranks) {
    if (rank < 0 || rank >= plan_.ranks || plan_.wire == Wire::onebit) {
      return invalid("a ps asks for a gradient of rank " + std::to_string(rank) +
                     ", which nobody can make");
    }
    note(rank, asked.step);
    const auto elements = static_cast<std::size_t>(plan_.model.arena_elements());
    const std::size_t nodes = nodes_of_rank(task_.context.spec, plan_, rank).size();
    const auto gradient = std::make_shared<AlignedBuffer>(elements * nodes);
    Contribution contribution{.step = asked.step, .sums = {}, .gradient = gradient};
    const auto start = std::chrono::steady_clock::now();
    TRY_ASSIGN(const bool made, compute(rank, parameters, gradient->span(), contribution));
    computing_ += std::chrono::steady_clock::now() - start;
    if (!made) return false;
    TRY(check_finite(task_, contribution));
    Status given = params.inherit(rank, contribution);
    if (!given.has_value() && task_.stop.stop_requested()) return false;
    TRY(task_.cause.of(Reason::peer_lost, std::move(given)));
  }
  return true;
}

// Once for each time that a rank is away.
void Heir::note(std::int64_t rank, std::int64_t step) {
  std::int64_t& newest = newest_[rank];
  if (step > newest + 1) {
    log_info("computes for a worker that is gone", {{"rank", rank}, {"step", step}});
  }
  newest = step;
  ++count_;
}

Result<bool> Heir::compute(std::int64_t rank, std::span<const float> parameters,
                           std::span<float> gradient, Contribution& contribution) {
  const JobSpec& spec = task_.context.spec;
  const auto elements = static_cast<std::size_t>(plan_.model.arena_elements());
  const BatchPlan batches{.leaves = plan_.leaves, .batch_size = leaf_examples(spec.training)};
  const auto leaf_gradient = [&](std::int64_t leaf, NodeSum sum) -> Result<bool> {
    if (task_.stop.stop_requested()) return false;
    read_batch(dataset_, sampler_, batches, contribution.step, leaf, batch_);
    const BatchResult result = plan_.model.gradient(parameters, batch_, sum.dense);
    contribution.sums +=
        {.examples = result.examples, .loss_sum = result.loss_sum, .correct = result.correct};
    return true;
  };
  for (const Leaves node : nodes_of_rank(spec, plan_, rank)) {
    RowGradients no_rows;
    const NodeSum sum{gradient.first(elements), no_rows};
    TRY_ASSIGN(const bool done, sums_.add_up(node, sum, leaf_gradient));
    if (!done) return false;
    gradient = gradient.subspan(elements);
  }
  return true;
}

}  // namespace trainyard::runtime
