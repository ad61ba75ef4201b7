#include "runtime/model/bucket_plans.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

PlanRequest plan_request(const BuiltModel& built, std::int64_t batch_size, const Threads& threads) {
  PlanRequest request{.examples = batch_size,
                      .loss = built.loss,
                      .outputs = {built.loss},
                      .threads = threads.count()};
  request.outputs.insert(request.outputs.end(), built.metric_nodes.begin(),
                         built.metric_nodes.end());
  for (const std::vector<NodeId>& nodes : built.watched) {
    request.outputs.insert(request.outputs.end(), nodes.begin(), nodes.end());
  }
  return request;
}

// Ids of an example; 0: the graph reads none.
std::int64_t length_of(const Graph& graph) {
  const auto reads_ids = [](const Node& node) { return std::holds_alternative<IdsOp>(node.op); };
  const auto ids = std::ranges::find_if(graph.nodes(), reads_ids);
  return ids == graph.nodes().end() ? 0 : ids->shape[0];
}

// What a step of the longest examples has on the device at least: the batch, and gradients of rows.
// Of sums of rows and of symbols only the batch says how much there is.
std::size_t bytes_of_batch(const Graph& graph, std::int64_t examples) {
  constexpr std::size_t borders = 64 << 10;  // and other small things
  // Of each example: label, target, length, an offset of 8 bytes.
  std::size_t elements = static_cast<std::size_t>(examples) * 5;
  for (const Node& node : graph.nodes()) {
    const auto of_batch = static_cast<std::size_t>(node.shape.elements() * examples);
    if (std::holds_alternative<FeaturesOp>(node.op)) elements += of_batch;
    if (std::holds_alternative<IdsOp>(node.op)) elements += 2 * of_batch;        // labels of tokens
    if (std::holds_alternative<RowLookupOp>(node.op)) elements += 2 * of_batch;  // gradients
  }
  return elements * sizeof(float) + borders;
}

// Too little memory is to be found before the job has begun, so all that is known of a step is
// asked for here. Throws DeviceFailed.
void require_memory(DeviceMemory& memory, const Graph& longest, std::int64_t examples) {
  const std::size_t batch = bytes_of_batch(longest, examples);
  DeviceBuffer(memory.device()).of(batch);
  DeviceBuffer(memory.device(), DeviceBuffer::On::host).of(batch);
}

}  // namespace

BucketPlans::BucketPlans(std::vector<BuiltModel> built, std::int64_t batch_size,
                         const Threads& threads, Device* device) {
  executors_.reserve(built.size());
  if (device != nullptr) {
    const std::int64_t parameters = built.front().builder.graph.arena_elements();
    memory_ = std::make_shared<DeviceMemory>(*device, parameters, threads);
  }
  for (BuiltModel& model : built) {
    const PlanRequest request =
        plan_request(model, batch_size, device == nullptr ? threads : Threads{});
    lengths_.push_back(length_of(model.builder.graph));
    step_flops_.push_back(model.step_flops);
    if (memory_ != nullptr) {
      const Executor* const first = executors_.empty() ? nullptr : &executors_.front();
      executors_.emplace_back(std::move(model.builder.graph), request, memory_, first);
    } else {
      executors_.emplace_back(std::move(model.builder.graph), request, cpu_kernels, threads);
      if (executors_.size() > 1) executors_.back().share_memory_of(executors_.front());
    }
  }
  if (memory_ != nullptr) require_memory(*memory_, graph(), batch_size);
}

Executor& BucketPlans::of(const Batch& batch) { return executors_[index_of(batch)]; }

std::int64_t BucketPlans::step_flops(const Batch& batch) const {
  return step_flops_[index_of(batch)];
}

std::size_t BucketPlans::index_of(const Batch& batch) const {
  if (executors_.size() == 1) return 0;
  ENSURE(batch.examples > 0);
  const auto found = std::ranges::find(lengths_, std::ssize(batch.ids) / batch.examples);
  ENSURE(found != lengths_.end());
  return static_cast<std::size_t>(found - lengths_.begin());
}

}  // namespace trainyard::runtime
