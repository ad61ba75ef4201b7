// The same leaves, batches and order of addition as of the rank itself.
#include "runtime/role/heir.h"

#include <memory>

#include "runtime/data/prefetch.h"
#include "schemas/base/check.h"
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

Heir::Heir(const Task& task, JobPlan& plan, const Dataset& dataset)
    : task_(task),
      plan_(plan),
      dataset_(dataset),
      sampler_(task.context.spec.training.seed, dataset.size(Split::train)),
      sums_(static_cast<std::size_t>(plan.model.arena_elements()), 0) {}

Contribution Heir::contribution_of(std::int64_t rank, std::int64_t step,
                                   std::span<const float> parameters) {
  const JobSpec& spec = task_.context.spec;
  if (step > newest_ + 1)
    log_info("computes for a worker that is gone", {{"rank", rank}, {"step", step}});
  newest_ = step;
  ++count_;

  const std::vector<Leaves> nodes = nodes_of_rank(spec, plan_, rank);
  const auto elements = static_cast<std::size_t>(plan_.model.arena_elements());
  const auto gradient = std::make_shared<AlignedBuffer>(elements * nodes.size());
  Contribution contribution{.step = step, .sums = {}, .gradient = gradient};
  const BatchPlan batches{.leaves = plan_.leaves, .batch_size = leaf_examples(spec.training)};
  const auto leaf_gradient = [&](std::int64_t leaf, NodeSum sum) -> Result<bool> {
    read_batch(dataset_, sampler_, batches, step, leaf, batch_);
    const BatchResult result = plan_.model.gradient(parameters, batch_, sum.dense);
    contribution.sums +=
        {.examples = result.examples, .loss_sum = result.loss_sum, .correct = result.correct};
    return true;
  };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    RowGradients no_rows;
    const NodeSum sum{gradient->span().subspan(i * elements, elements), no_rows};
    ENSURE(sums_.add_up(nodes[i], sum, leaf_gradient).has_value());
  }
  return contribution;
}

}  // namespace trainyard::runtime
