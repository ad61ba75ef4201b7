#include "runtime/graph/executor.h"

#include <algorithm>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {

Executor::Executor(Graph graph, const PlanRequest& request, const Kernels& kernels,
                   const Threads& threads)
    : graph_(std::move(graph)),
      loss_(request.loss),
      outputs_(request.outputs),
      examples_max_(request.examples),
      kernels_(kernels),
      threads_(threads),
      plan_(make_plan(graph_, request, kernels)),
      own_memory_(static_cast<std::size_t>(plan_.arena_elements)),
      arena_(own_memory_.span()),
      values_(graph_.nodes().size()),
      values_again_(graph_.nodes().size()) {
  ENSURE(request.threads == threads.count());
}

namespace {

AlignedBuffer arena_on(Device& device, std::int64_t elements) {
  const auto count = static_cast<std::size_t>(elements);
  auto buffer = std::make_shared<DeviceBuffer>(device);
  float* const data = buffer->floats(count);
  return {std::shared_ptr<float>(std::move(buffer), data), count};
}

}  // namespace

Executor::Executor(Graph graph, const PlanRequest& request, std::shared_ptr<DeviceMemory> memory)
    : graph_(std::move(graph)),
      loss_(request.loss),
      outputs_(request.outputs),
      examples_max_(request.examples),
      kernels_(memory->device().kernels()),
      plan_(make_plan(graph_, request, kernels_)),
      own_memory_(arena_on(memory->device(), plan_.arena_elements)),
      arena_(own_memory_.span()),
      values_(graph_.nodes().size()),
      values_again_(graph_.nodes().size()),
      there_(std::move(memory)),
      is_brought_(graph_.variables().size()),
      fetched_(graph_.nodes().size()) {
  if (std::ranges::find(outputs_, loss_) == outputs_.end()) outputs_.push_back(loss_);
}

void Executor::share_memory_of(Executor& other) {
  if (other.arena_.size() < arena_.size()) return;
  arena_ = other.arena_;
  own_memory_ = AlignedBuffer();
}

Tensor Executor::tensor(const Place& place, const Shape& shape) {
  if (place.elements == 0) return {};
  return {arena_.data() + place.offset, shape};
}

// Where every node's value lies for this batch.
void Executor::bind(std::span<const float> parameters, const Feed& feed) {
  ENSURE(feed.examples >= 1 && feed.examples <= examples_max_);
  ENSURE(std::ssize(parameters) == graph_.arena_elements());
  ENSURE(feed.lengths.empty() || std::ssize(feed.lengths) == feed.examples);
  const auto nodes = graph_.nodes();
  for (NodeId id = 0; id < nodes.size(); ++id) {
    const Shape shape = shape_in_batch(nodes[id], feed.examples);
    if (const auto* const variable = std::get_if<VariableOp>(&nodes[id].op)) {
      values_[id] = {parameters.data() + graph_.variables()[variable->index].offset, shape};
    } else if (std::holds_alternative<FeaturesOp>(nodes[id].op)) {
      ENSURE(std::ssize(feed.features) == shape.elements());
      values_[id] = {feed.features.data(), shape};
    } else if (std::holds_alternative<SparseFeaturesOp>(nodes[id].op)) {
      ENSURE(feed.sparse.rows() == feed.examples);
      values_[id] = {nullptr, shape};  // read from the feed
    } else if (const auto* const ids = std::get_if<IdsOp>(&nodes[id].op)) {
      ENSURE(std::ssize(ids_of(feed, ids->field)) == shape.elements());
      values_[id] = {nullptr, shape};  // as these
    } else {
      values_[id] = tensor(plan_.values[id], shape);
      values_again_[id] = tensor(plan_.values_again[id], shape);
    }
  }
}

std::span<const ConstTensor> Executor::gather_inputs(const Node& node) {
  inputs_.clear();
  for (const NodeId input : node.inputs) inputs_.push_back(values_[input]);
  return inputs_;
}

std::span<const ConstTensor> Executor::gather_inputs_again(const Node& node) {
  inputs_.clear();
  for (const NodeId input : node.inputs) {
    const bool is_again = runs_again(input) && are_recomputed_together(node, graph_.nodes()[input]);
    inputs_.push_back(is_again ? values_again_[input] : values_[input]);
  }
  return inputs_;
}

void Executor::run_forward(NodeId id, const Feed& feed, Pass pass) {
  const Node& node = graph_.nodes()[id];
  kernels_.forward(node.op, {.inputs = gather_inputs(node),
                             .output = tensor(plan_.values[id], values_[id].shape),
                             .saved = room(plan_.saved[id]),
                             .scratch = room(plan_.scratch),
                             .feed = feed,
                             .pass = pass,
                             .threads = threads_});
}

// What is drawn is drawn by its place, and state is written by backward steps alone: the same bytes
// as the first time.
void Executor::run_again(NodeId id, const Feed& feed) {
  const Node& node = graph_.nodes()[id];
  kernels_.forward(node.op, {.inputs = gather_inputs_again(node),
                             .output = tensor(plan_.values_again[id], values_[id].shape),
                             .saved = room(plan_.saved_again[id]),
                             .scratch = room(plan_.scratch),
                             .feed = feed,
                             .pass = Pass::train,
                             .threads = threads_});
}

void Executor::forward(std::span<const float> parameters, const Feed& feed, Pass pass,
                       const std::function<void(std::size_t)>& on_need) {
  if (there_ != nullptr) {
    staged_ = there_->stage(feed);
    is_brought_.assign(is_brought_.size(), false);
  }
  const Feed& batch = there_ == nullptr ? feed : staged_;
  bind(there_ == nullptr ? parameters : there_->parameters(), batch);
  const auto nodes = graph_.nodes();
  for (NodeId id = 0; id < nodes.size(); ++id) {
    for (const NodeId input : nodes[id].inputs) {
      const auto* const variable = std::get_if<VariableOp>(&nodes[input].op);
      if (variable == nullptr) continue;
      if (on_need) on_need(variable->index);
      bring_parameters(variable->index, parameters);
    }
    run_forward(id, batch, pass);
  }
  fetch_outputs();
}

// Once in a step: nothing changes them until it is over.
void Executor::bring_parameters(std::size_t variable, std::span<const float> parameters) {
  if (there_ == nullptr || is_brought_[variable]) return;
  is_brought_[variable] = true;
  const Variable& which = graph_.variables()[variable];
  const std::size_t bytes = static_cast<std::size_t>(which.elements) * sizeof(float);
  there_->device().upload(parameters.data() + which.offset,
                          there_->parameters().data() + which.offset, bytes);
}

void Executor::fetch_outputs() {
  if (there_ == nullptr) return;
  Device& device = there_->device();
  for (const NodeId id : outputs_) {
    const ConstTensor value = values_[id];
    fetched_[id].resize(static_cast<std::size_t>(value.elements()));
    if (value.data == nullptr || value.elements() == 0) continue;
    device.download(value.data, fetched_[id].data(), value.span().size_bytes());
  }
  device.wait(device.mark());
  require_sound(device);
}

ConstTensor Executor::value(NodeId id) const {
  if (there_ == nullptr) return values_[id];
  ENSURE(!fetched_[id].empty());
  return {fetched_[id].data(), values_[id].shape};
}

GradientTarget Executor::gradient_target(NodeId input, Write write, std::span<float> gradients) {
  const Shape& shape = values_[input].shape;
  if (const auto* const variable = std::get_if<VariableOp>(&graph_.nodes()[input].op)) {
    return {{gradients.data() + graph_.variables()[variable->index].offset, shape}, write};
  }
  return {tensor(plan_.gradients[input], shape), write};
}

// Frozen variables, and what lies between variables.
void Executor::clear_what_nobody_computes(std::span<float> gradients) const {
  const auto variables = graph_.variables();
  std::int64_t begin = 0;  // of what follows the last variable with a gradient
  const auto clear_to = [&](std::int64_t end) {
    std::fill(gradients.begin() + begin, gradients.begin() + end, 0.0F);
  };
  for (const Variable& variable : variables) {
    if (variable.update == UpdateRule::none) continue;
    clear_to(variable.offset);
    begin = variable.offset + variable.elements;
  }
  clear_to(std::ssize(gradients));
}

void Executor::begin_loss_gradient() {
  const Tensor place = tensor(plan_.gradients[loss_], values_[loss_].shape);
  if (there_ == nullptr) {
    std::ranges::fill(place.span(), 1.0F);
    return;
  }
  ones_.assign(place.span().size(), 1.0F);
  there_->device().upload(ones_.data(), place.data, place.span().size_bytes());
}

void Executor::backward(std::span<const float> parameters, const Feed& feed,
                        std::span<float> gradients,
                        const std::function<void(std::size_t)>& on_final, Parameters may) {
  ENSURE(std::ssize(gradients) == graph_.arena_elements());
  const Feed& batch = there_ == nullptr ? feed : staged_;
  const std::span<float> places = there_ == nullptr ? gradients : there_->gradients();
  bind(there_ == nullptr ? parameters : there_->parameters(), batch);
  clear_what_nobody_computes(gradients);
  for (const std::size_t variable : plan_.final_at_once) {
    if (on_final) on_final(variable);
  }
  begin_loss_gradient();
  for (const BackwardStep& step : plan_.backward) {
    for (const NodeId id : step.again) run_again(id, batch);
    const bool is_split = may == Parameters::stay && !step.final_variables.empty() &&
                          traits(graph_.nodes()[step.node].op).has_gradients_apart;
    run_backward(step, batch, places, is_split ? Inputs::variables : Inputs::all);
    for (const std::size_t variable : step.final_variables) finish(variable, gradients, on_final);
    if (is_split) run_backward(step, batch, places, Inputs::others);
    tell_what_arrived(on_final, false);
  }
  finish_all(feed, on_final);
}

// On a device: some at a time, as each copy has a price of its own.
void Executor::finish(std::size_t variable, std::span<float> gradients, const OnFinal& on_final) {
  if (there_ == nullptr) {
    if (on_final) on_final(variable);
    return;
  }
  constexpr std::size_t bytes_at_once = 1 << 20;
  const Variable& which = graph_.variables()[variable];
  leaving_.variables.push_back(variable);
  if (which.update != UpdateRule::none) {
    const std::size_t bytes = static_cast<std::size_t>(which.elements) * sizeof(float);
    there_->device().download(there_->gradients().data() + which.offset,
                              gradients.data() + which.offset, bytes);
    leaving_.bytes += bytes;
  }
  if (leaving_.bytes >= bytes_at_once) send_gradients();
}

void Executor::send_gradients() {
  if (leaving_.variables.empty()) return;
  leaving_.mark = there_->device().mark();
  sent_.push_back(std::move(leaving_));
  leaving_ = {};
}

void Executor::tell_what_arrived(const OnFinal& on_final, bool waits) {
  while (!sent_.empty()) {
    Device& device = there_->device();
    const Leaving& first = sent_.front();
    if (waits) device.wait(first.mark);
    if (!device.reached(first.mark)) return;
    require_sound(device);
    for (const std::size_t variable : first.variables) {
      if (on_final) on_final(variable);
    }
    sent_.pop_front();
  }
}

void Executor::finish_all(const Feed& feed, const OnFinal& on_final) {
  if (there_ == nullptr) return;
  send_gradients();
  there_->fetch_row_gradients(feed);
  const std::uint64_t last = there_->device().mark();
  tell_what_arrived(on_final, true);
  there_->device().wait(last);
  require_sound(there_->device());
}

void Executor::run_backward(const BackwardStep& step, const Feed& feed, std::span<float> gradients,
                            Inputs which) {
  const Node& node = graph_.nodes()[step.node];
  targets_.clear();
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_variable = std::holds_alternative<VariableOp>(graph_.nodes()[node.inputs[i]].op);
    const bool is_wanted = which == Inputs::all || (which == Inputs::variables) == is_variable;
    targets_.push_back(is_wanted && step.inputs[i]
                           ? gradient_target(node.inputs[i], *step.inputs[i], gradients)
                           : GradientTarget{});
  }
  const auto is_asked = [](const GradientTarget& target) { return target.into.data != nullptr; };
  if (which == Inputs::others && std::ranges::none_of(targets_, is_asked)) return;
  kernels_.backward(
      node.op,
      {.inputs = gather_inputs_again(node),
       .output = runs_again(step.node) ? values_again_[step.node] : values_[step.node],
       .saved = room(runs_again(step.node) ? plan_.saved_again[step.node] : plan_.saved[step.node]),
       .scratch = room(plan_.scratch),
       .output_gradient = tensor(plan_.gradients[step.node], values_[step.node].shape),
       .input_gradients = targets_,
       .feed = feed,
       .threads = threads_});
}

}  // namespace trainyard::runtime
