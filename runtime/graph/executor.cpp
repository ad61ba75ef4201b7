#include "runtime/graph/executor.h"

#include <algorithm>
#include <utility>

#include "runtime/graph/executor_on_device.h"
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

void Executor::forward(const ParameterPlace& parameters, const Feed& feed, Pass pass,
                       const OnNeed& on_need) {
  if (there_ != nullptr) return forward_there(parameters, feed, pass, on_need);
  ENSURE(parameters.bfloat16.empty());
  bind(parameters.arena, feed);
  const auto nodes = graph_.nodes();
  for (NodeId id = 0; id < nodes.size(); ++id) {
    for (const NodeId input : nodes[id].inputs) {
      const auto* const variable = std::get_if<VariableOp>(&nodes[input].op);
      if (variable != nullptr && on_need) on_need(variable->index);
    }
    run_forward(id, feed, pass);
  }
}

GradientTarget Executor::gradient_target(NodeId input, Write write, std::span<float> gradients) {
  const Shape& shape = values_[input].shape;
  if (const auto* const variable = std::get_if<VariableOp>(&graph_.nodes()[input].op)) {
    return {{gradients.data() + graph_.variables()[variable->index].offset, shape}, write};
  }
  return {tensor(plan_.gradients[input], shape), write};
}

// Frozen variables, and what lies between variables.
void Executor::clear_what_nobody_computes(const GradientPlace& gradients) const {
  const auto variables = graph_.variables();
  std::int64_t begin = 0;  // of what follows the last variable with a gradient
  const auto clear_to = [&](std::int64_t end) {
    const auto clear = [&](auto place) {
      const std::int64_t count = std::min(end, std::ssize(place)) - begin;
      if (count > 0) std::fill_n(place.begin() + begin, count, 0);
    };
    clear(gradients.arena);
    clear(gradients.bfloat16);
  };
  for (const Variable& variable : variables) {
    if (variable.update == UpdateRule::none) continue;
    clear_to(variable.offset);
    begin = variable.offset + variable.elements;
  }
  clear_to(std::ssize(gradients.arena));
}

void Executor::begin_backward(const GradientPlace& gradients, const OnFinal& on_final) const {
  ENSURE(std::ssize(gradients.arena) == graph_.arena_elements());
  clear_what_nobody_computes(gradients);
  for (const std::size_t variable : plan_.final_at_once) {
    if (on_final) on_final(variable);
  }
}

void Executor::backward(std::span<const float> parameters, const Feed& feed,
                        std::span<float> gradients, const OnFinal& on_final, Parameters may,
                        const OnFinalFrom& on_final_from) {
  if (there_ != nullptr) return backward(feed, {.arena = gradients}, on_final, LeafOfNode{});
  begin_backward({.arena = gradients}, on_final);
  bind(parameters, feed);
  std::ranges::fill(tensor(plan_.gradients[loss_], values_[loss_].shape).span(), 1.0F);
  for (const BackwardStep& step : plan_.backward) {
    for (const NodeId id : step.again) run_again(id, feed);
    const bool is_split = may == Parameters::stay && !step.final_variables.empty() &&
                          traits(graph_.nodes()[step.node].op).has_gradients_apart;
    if (is_split) {
      const auto tell_part = teller_of_parts(step, on_final, on_final_from);
      run_backward(step, feed, gradients, Inputs::variables, tell_part);
    } else {
      run_backward(step, feed, gradients, Inputs::all);
    }
    for (const std::size_t variable : step.final_variables) {
      if (on_final) on_final(variable);
    }
    if (is_split) run_backward(step, feed, gradients, Inputs::others);
  }
}

// None where the second input is no variable or the first is one, or others add to its gradient
// later.
std::function<void(std::int64_t)> Executor::teller_of_parts(
    const BackwardStep& step, const OnFinal& on_final, const OnFinalFrom& on_final_from) const {
  const auto& inputs = graph_.nodes()[step.node].inputs;
  if (!on_final_from || inputs.size() < 2) return {};
  const auto* const first = std::get_if<VariableOp>(&graph_.nodes()[inputs[0]].op);
  const auto* const second = std::get_if<VariableOp>(&graph_.nodes()[inputs[1]].op);
  if (first != nullptr || second == nullptr) return {};
  const std::size_t number = second->index;
  if (std::ranges::count(step.final_variables, number) == 0) return {};
  return [&, number](std::int64_t from) {
    for (const std::size_t variable : step.final_variables) {
      if (variable != number && on_final) on_final(variable);
    }
    on_final_from(number, from);
  };
}

void Executor::run_backward(const BackwardStep& step, const Feed& feed, std::span<float> gradients,
                            Inputs which, const std::function<void(std::int64_t)>& on_final_from) {
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
       .threads = threads_,
       .on_final_from = on_final_from});
}

}  // namespace trainyard::runtime
