#include "runtime/graph/executor_on_device.h"

#include <algorithm>
#include <utility>

#include "runtime/core/arena_layout.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

AlignedBuffer arena_on(Device& device, std::int64_t elements) {
  const auto count = static_cast<std::size_t>(elements);
  auto buffer = std::make_shared<DeviceBuffer>(device);
  float* const data = buffer->floats(count);
  return {std::shared_ptr<float>(std::move(buffer), data), count};
}

std::int64_t bytes_of(const Variable& variable) {
  return variable.elements * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

Executor::OnDevice::OnDevice(const Graph& graph, const Plan& plan,
                             std::shared_ptr<DeviceMemory> where)
    : memory(std::move(where)),
      traffic(*memory, graph.variables()),
      forward(forward_segments(graph)),
      backward(backward_segments(graph, plan)),
      forward_recordings(memory->device()),
      backward_recordings(memory->device()),
      fetched(graph.nodes().size()) {}

// Parameters arrive in parts, and what is computed with one is not held up by the next. What goes
// before many parameters is a part of its own: it is computed while they come.
std::vector<Executor::OnDevice::Segment> Executor::OnDevice::forward_segments(const Graph& graph) {
  constexpr std::int64_t bytes_up = 1 << 20;
  std::vector<Segment> segments;
  Segment segment;
  std::int64_t bytes = 0;
  for (const Node& node : graph.nodes()) {
    std::vector<std::size_t> variables;
    std::int64_t more = 0;
    for (const NodeId input : node.inputs) {
      const auto* const variable = std::get_if<VariableOp>(&graph.nodes()[input].op);
      if (variable == nullptr) continue;
      variables.push_back(variable->index);
      more += bytes_of(graph.variables()[variable->index]);
    }
    if (bytes + more >= bytes_up && segment.end > 0) {
      segments.push_back({.end = segment.end, .variables = std::move(segment.variables)});
      segment.variables.clear();
      bytes = 0;
    }
    segment.variables.insert(segment.variables.end(), variables.begin(), variables.end());
    bytes += more;
    ++segment.end;
  }
  segments.push_back(std::move(segment));
  return segments;
}

// Gradients leave in parts while the rest is computed; each copy has a price of its own.
std::vector<Executor::OnDevice::Segment> Executor::OnDevice::backward_segments(const Graph& graph,
                                                                               const Plan& plan) {
  constexpr std::int64_t bytes_down = 1 << 20;
  std::vector<Segment> segments;
  Segment segment;
  std::int64_t bytes = 0;
  for (const BackwardStep& step : plan.backward) {
    for (const std::size_t variable : step.final_variables) {
      segment.variables.push_back(variable);
      bytes += bytes_of(graph.variables()[variable]);
    }
    ++segment.end;
    if (bytes < bytes_down && segment.end < plan.backward.size()) continue;
    segments.push_back({.end = segment.end, .variables = std::move(segment.variables)});
    segment.variables.clear();
    bytes = 0;
  }
  return segments;
}

Executor::OnDevice::~OnDevice() { memory->device().wait(memory->device().mark()); }

Executor::Executor(Graph graph, const PlanRequest& request, std::shared_ptr<DeviceMemory> memory,
                   const Executor* other)
    : graph_(std::move(graph)),
      loss_(request.loss),
      outputs_(request.outputs),
      examples_max_(request.examples),
      kernels_(memory->device().kernels()),
      plan_(make_plan(graph_, request, kernels_)),
      own_memory_(other != nullptr && std::ssize(other->arena_) >= plan_.arena_elements
                      ? AlignedBuffer()
                      : arena_on(memory->device(), plan_.arena_elements)),
      arena_(own_memory_.size() > 0 || other == nullptr ? own_memory_.span() : other->arena_),
      values_(graph_.nodes().size()),
      values_again_(graph_.nodes().size()),
      there_(std::make_unique<OnDevice>(graph_, plan_, std::move(memory))) {
  if (std::ranges::find(outputs_, loss_) == outputs_.end()) outputs_.push_back(loss_);
}

Executor::Executor(Executor&&) noexcept = default;
Executor::~Executor() = default;

void Executor::forward_there(const ParameterPlace& parameters, const Feed& feed, Pass pass,
                             const OnNeed& on_need) {
  OnDevice& there = *there_;
  there.batch = there.memory->stage(feed);
  ENSURE(parameters.bfloat16.empty() ||
         std::ssize(parameters.bfloat16) ==
             std::min(graph_.arena_elements(), state_begin_of(graph_.variables())));
  there.traffic.begin_step();
  there.are_kept = there.memory->keeps(parameters.arena);
  there.parameters = there.memory->parameters_for(parameters.arena);
  there.forward_recordings.choose(there.batch, pass, there.parameters.data());
  bind(there.parameters, there.batch);
  NodeId next = 0;
  for (std::size_t i = 0; i < there.forward.size(); ++i) {
    const OnDevice::Segment& segment = there.forward[i];
    for (const std::size_t variable : segment.variables) {
      if (on_need) on_need(variable);
    }
    if (!there.are_kept) there.traffic.bring(segment.variables, parameters, pass);
    there.forward_recordings.run(i, [&] {
      for (NodeId id = next; id < segment.end; ++id) run_forward(id, there.batch, pass);
    });
    next = segment.end;
  }
  fetch_outputs();
}

void Executor::fetch_outputs() {
  Staging& staging = there_->memory->staging();
  for (const NodeId id : outputs_) {
    const ConstTensor value = values_[id];
    std::vector<float>& fetched = there_->fetched[id];
    fetched.resize(static_cast<std::size_t>(value.elements()));
    if (value.data == nullptr || value.elements() == 0) continue;
    staging.download(value.data, fetched.data(), value.span().size_bytes());
  }
  staging.wait(staging.mark());
  require_sound(there_->memory->device());
}

ConstTensor Executor::value(NodeId id) const {
  if (there_ == nullptr) return values_[id];
  ENSURE(!there_->fetched[id].empty());
  return {there_->fetched[id].data(), values_[id].shape};
}

void Executor::backward(const Feed& feed, const GradientPlace& gradients, const OnFinal& on_final,
                        const LeafOfNode& leaf) {
  ENSURE(there_ != nullptr);
  OnDevice& there = *there_;
  if (leaf.is_last && !there.are_kept) begin_backward(gradients, on_final);
  Device& device = there.memory->device();
  DeviceSums& sums = there.memory->sums();
  const std::span<float> gradient = there.memory->gradients();
  const bool is_alone = leaf.is_first && leaf.is_last;
  const float* const total = is_alone ? gradient.data() : sums.total(gradient.data());
  there.backward_recordings.choose(there.batch, Pass::train, there.parameters.data());
  bind(there.parameters, there.batch);
  std::size_t next = 0;
  for (std::size_t i = 0; i < there.backward.size(); ++i) {
    const OnDevice::Segment& segment = there.backward[i];
    there.backward_recordings.run(i, [&] {
      if (next == 0) {
        const Tensor place = tensor(plan_.gradients[loss_], values_[loss_].shape);
        device.fill(place.data, 1.0F, place.span().size());
      }
      for (std::size_t step = next; step < segment.end; ++step) {
        for (const NodeId id : plan_.backward[step].again) run_again(id, there.batch);
        run_backward(plan_.backward[step], there.batch, gradient, Inputs::all);
      }
    });
    next = segment.end;
    if (!leaf.is_last) continue;
    if (!is_alone) there.traffic.add_up(segment.variables);
    if (there.are_kept) continue;
    there.traffic.send(segment.variables, total, gradients);
    there.traffic.report_arrived(on_final);
  }
  if (!leaf.is_last) sums.add(gradient.data(), leaf);
  there.memory->set_total(total);
  there.memory->fetch_row_gradients(feed);
  const std::uint64_t last = there.memory->staging().mark();
  there.traffic.report_all(on_final);
  there.memory->staging().wait(last);
  require_sound(device);
}

}  // namespace trainyard::runtime
