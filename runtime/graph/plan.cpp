// The backward order first, with what has to be computed again in it, then lifetimes, then blocks
// (values that share one place because an op works in place), then places: the largest block first,
// each at the lowest offset that no block alive at the same time covers.
#include "runtime/graph/plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/math/aligned_buffer.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

struct Block {
  std::vector<Place*> members;
  std::int64_t elements = 0;
  Lifetime lifetime;
  std::int64_t offset = 0;
};

void live_until(Place& place, std::int64_t time) {
  place.lifetime.last = std::max(place.lifetime.last, time);
}

bool overlap(const Lifetime& a, const Lifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

bool has_place(const Node& node) {
  return !std::holds_alternative<FeaturesOp>(node.op) &&
         !std::holds_alternative<SparseFeaturesOp>(node.op) &&
         !std::holds_alternative<IdsOp>(node.op) && !std::holds_alternative<VariableOp>(node.op);
}

class Planner {
 public:
  Planner(const Graph& graph, const PlanRequest& request, const Kernels& kernels)
      : nodes_(graph.nodes()),
        request_(request),
        kernels_(kernels),
        gradient_from_(nodes_.size()),
        runs_again_(nodes_.size()),
        again_time_(nodes_.size()),
        backward_time_(nodes_.size(), std::ssize(nodes_)) {
    plan_.values.resize(nodes_.size());
    plan_.gradients.resize(nodes_.size());
    plan_.saved.resize(nodes_.size());
    plan_.values_again.resize(nodes_.size());
    plan_.saved_again.resize(nodes_.size());
  }

  Plan run() {
    order_backward();
    find_what_runs_again();
    set_times();
    find_final_variables();
    set_lifetimes();
    make_value_blocks();
    make_blocks_again();
    make_gradient_blocks();
    place_blocks();
    plan_.scratch.offset = plan_.arena_elements;
    plan_.arena_elements += plan_.scratch.elements;
    return std::move(plan_);
  }

 private:
  static std::int64_t forward_time(NodeId id) { return static_cast<std::int64_t>(id); }

  [[nodiscard]] Needs needs_of(const Node& node) const;
  void order_backward();
  void find_what_runs_again();
  void set_times();
  void find_final_variables();
  [[nodiscard]] std::vector<bool> upstream_of_loss() const;
  // The value of `input` that `reader` reads when it runs backward, or forward again.
  Place& value_for(NodeId reader, NodeId input);
  void set_lifetimes();
  void make_value_blocks();
  void make_blocks_again();
  void make_gradient_blocks();
  void place_blocks();
  std::size_t new_block(Place& place);
  void join_block(std::size_t block, Place& place);

  std::span<const Node> nodes_;
  const PlanRequest& request_;
  const Kernels& kernels_;
  // By node: the nodes whose backward steps add to its gradient, in the order they run.
  std::vector<std::vector<NodeId>> gradient_from_;
  std::vector<bool> runs_again_;             // by node
  std::vector<std::int64_t> again_time_;     // by node that runs again
  std::vector<std::int64_t> backward_time_;  // by node
  std::int64_t end_ = 0;
  std::vector<Block> blocks_;
  Plan plan_;
};

void Planner::order_backward() {
  for (NodeId id = request_.loss + 1; id-- > 0;) {
    const Node& node = nodes_[id];
    const bool reached = id == request_.loss || !gradient_from_[id].empty();
    if (!node.needs_gradient || !reached || !has_place(node)) continue;
    BackwardStep step{.node = id, .again = {}, .inputs = {}, .final_variables = {}};
    for (const NodeId input : node.inputs) {
      if (!nodes_[input].needs_gradient) {
        step.inputs.emplace_back(std::nullopt);
        continue;
      }
      step.inputs.emplace_back(gradient_from_[input].empty() ? Write::overwrite : Write::add);
      gradient_from_[input].push_back(id);
    }
    plan_.backward.push_back(std::move(step));
  }
}

// What the backward steps of a block read of it, and what that is made of.
void Planner::find_what_runs_again() {
  std::map<std::size_t, BackwardStep*> first_steps;  // by block
  for (BackwardStep& step : plan_.backward) {
    const Node& node = nodes_[step.node];
    if (!node.recompute_block) continue;
    first_steps.try_emplace(*node.recompute_block, &step);
    const OpTraits op = traits(node.op);
    for (const NodeId input : node.inputs) {
      if (!op.backward_reads_inputs || !are_recomputed_together(node, nodes_[input])) continue;
      runs_again_[input] = true;
    }
    if (op.backward_reads_output || needs_of(node).saved > 0) runs_again_[step.node] = true;
  }
  for (NodeId id = nodes_.size(); id-- > 0;) {
    if (!runs_again_[id]) continue;
    for (const NodeId input : nodes_[id].inputs) {
      if (are_recomputed_together(nodes_[id], nodes_[input])) runs_again_[input] = true;
    }
  }
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (runs_again_[id]) first_steps.at(*nodes_[id].recompute_block)->again.push_back(id);
  }
}

void Planner::set_times() {
  end_ = std::ssize(nodes_);
  for (const BackwardStep& step : plan_.backward) {
    for (const NodeId id : step.again) again_time_[id] = end_++;
    backward_time_[step.node] = end_++;
  }
}

std::vector<bool> Planner::upstream_of_loss() const {
  std::vector<bool> is_upstream(nodes_.size());
  is_upstream[request_.loss] = true;
  for (NodeId id = request_.loss + 1; id-- > 0;) {
    if (!is_upstream[id]) continue;
    for (const NodeId input : nodes_[id].inputs) is_upstream[input] = true;
  }
  return is_upstream;
}

// A step that reads a variable also gives to it, unless the variable is frozen or what reads it
// only runs forward again.
void Planner::find_final_variables() {
  const std::vector<bool> is_upstream = upstream_of_loss();
  std::vector<std::optional<std::size_t>> last_step(nodes_.size());
  for (std::size_t step = 0; step < plan_.backward.size(); ++step) {
    const auto reads = [&](NodeId id) {
      for (const NodeId input : nodes_[id].inputs) last_step[input] = step;
    };
    std::ranges::for_each(plan_.backward[step].again, reads);
    reads(plan_.backward[step].node);
  }
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const auto* const variable = std::get_if<VariableOp>(&nodes_[id].op);
    if (variable == nullptr) continue;
    ENSURE(is_upstream[id] && (!nodes_[id].needs_gradient || !gradient_from_[id].empty()));
    if (last_step[id]) {
      plan_.backward[*last_step[id]].final_variables.push_back(variable->index);
    } else {
      plan_.final_at_once.push_back(variable->index);
    }
  }
}

Needs Planner::needs_of(const Node& node) const {
  std::vector<Shape> inputs;
  for (const NodeId input : node.inputs) {
    inputs.push_back(shape_in_batch(nodes_[input], request_.examples));
  }
  const Needs needs =
      kernels_.needs(node.op, inputs, shape_in_batch(node, request_.examples), request_.threads);
  return {round_up_to_alignment(needs.saved), round_up_to_alignment(needs.scratch)};
}

Place& Planner::value_for(NodeId reader, NodeId input) {
  const bool is_again =
      runs_again_[input] && are_recomputed_together(nodes_[reader], nodes_[input]);
  return is_again ? plan_.values_again[input] : plan_.values[input];
}

void Planner::set_lifetimes() {
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Node& node = nodes_[id];
    const OpTraits op = traits(node.op);
    const bool runs_backward = id == request_.loss || !gradient_from_[id].empty();
    for (const NodeId input : node.inputs) {
      live_until(plan_.values[input], forward_time(id));
      if (runs_again_[id]) live_until(value_for(id, input), again_time_[id]);
      if (runs_backward && op.backward_reads_inputs) {
        live_until(value_for(id, input), backward_time_[id]);
      }
    }
    if (!has_place(node)) continue;
    const std::int64_t elements =
        round_up_to_alignment(shape_in_batch(node, request_.examples).elements());
    plan_.values[id] = {.elements = elements, .lifetime = {forward_time(id), forward_time(id)}};
    if (runs_backward) {
      const std::int64_t first =
          id == request_.loss ? std::ssize(nodes_) : backward_time_[gradient_from_[id].front()];
      plan_.gradients[id] = {.elements = elements, .lifetime = {first, backward_time_[id]}};
    }
    if (runs_again_[id]) {
      plan_.values_again[id] = {.elements = elements,
                                .lifetime = {again_time_[id], again_time_[id]}};
    }
    if (runs_backward && op.backward_reads_output) {
      live_until(value_for(id, id), backward_time_[id]);
    }
    const Needs needs = needs_of(node);
    plan_.scratch.elements = std::max(plan_.scratch.elements, needs.scratch);
    if (needs.saved > 0) {
      const bool is_kept = runs_backward && !runs_again_[id];
      plan_.saved[id] = {
          .elements = needs.saved,
          .lifetime = {forward_time(id), is_kept ? backward_time_[id] : forward_time(id)}};
      if (runs_again_[id]) {
        const std::int64_t last = runs_backward ? backward_time_[id] : again_time_[id];
        plan_.saved_again[id] = {.elements = needs.saved, .lifetime = {again_time_[id], last}};
      }
    }
  }
  for (const NodeId output : request_.outputs) live_until(plan_.values[output], end_);
}

std::size_t Planner::new_block(Place& place) {
  blocks_.push_back({.members = {&place}, .elements = place.elements, .lifetime = place.lifetime});
  return blocks_.size() - 1;
}

void Planner::join_block(std::size_t block, Place& place) {
  Lifetime& lifetime = blocks_[block].lifetime;
  lifetime.first = std::min(lifetime.first, place.lifetime.first);
  lifetime.last = std::max(lifetime.last, place.lifetime.last);
  blocks_[block].members.push_back(&place);
}

void Planner::make_value_blocks() {
  std::vector<std::size_t> block_of(nodes_.size());
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    Place& place = plan_.values[id];
    if (place.elements == 0) continue;
    if (plan_.saved[id].elements > 0) new_block(plan_.saved[id]);
    const NodeId input = nodes_[id].inputs[0];
    const Place& below = plan_.values[input];
    const bool nobody_else_reads = below.elements > 0 && below.lifetime.last == forward_time(id);
    if (traits(nodes_[id].op).in_place && nobody_else_reads) {
      block_of[id] = block_of[input];
      join_block(block_of[id], place);
    } else {
      block_of[id] = new_block(place);
    }
  }
}

// As make_value_blocks does.
void Planner::make_blocks_again() {
  std::vector<std::size_t> block_of(nodes_.size());
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    if (!runs_again_[id]) continue;
    Place& place = plan_.values_again[id];
    if (plan_.saved_again[id].elements > 0) new_block(plan_.saved_again[id]);
    const NodeId input = nodes_[id].inputs[0];
    const Place& below = value_for(id, input);
    const bool is_again = &below == &plan_.values_again[input];
    if (traits(nodes_[id].op).in_place && is_again && below.lifetime.last == again_time_[id]) {
      block_of[id] = block_of[input];
      join_block(block_of[id], place);
    } else {
      block_of[id] = new_block(place);
    }
  }
}

void Planner::make_gradient_blocks() {
  std::vector<std::size_t> block_of(nodes_.size());
  for (NodeId id = nodes_.size(); id-- > 0;) {
    Place& place = plan_.gradients[id];
    if (place.elements == 0) continue;
    const auto& givers = gradient_from_[id];
    if (givers.size() == 1 && traits(nodes_[givers[0]].op).in_place &&
        nodes_[givers[0]].inputs[0] == id) {
      block_of[id] = block_of[givers[0]];
      join_block(block_of[id], place);
    } else {
      block_of[id] = new_block(place);
    }
  }
}

void Planner::place_blocks() {
  std::ranges::stable_sort(blocks_, std::greater{}, &Block::elements);
  for (std::size_t index = 0; index < blocks_.size(); ++index) {
    Block& block = blocks_[index];
    std::vector<const Block*> in_the_way;
    for (std::size_t earlier = 0; earlier < index; ++earlier) {
      if (overlap(blocks_[earlier].lifetime, block.lifetime))
        in_the_way.push_back(&blocks_[earlier]);
    }
    std::ranges::sort(in_the_way, {}, &Block::offset);
    for (const Block* const other : in_the_way) {
      if (block.offset + block.elements <= other->offset) break;
      block.offset = std::max(block.offset, other->offset + other->elements);
    }
    plan_.arena_elements = std::max(plan_.arena_elements, block.offset + block.elements);
    for (Place* const member : block.members) member->offset = block.offset;
  }
}

}  // namespace

Plan make_plan(const Graph& graph, const PlanRequest& request, const Kernels& kernels) {
  return Planner(graph, request, kernels).run();
}

}  // namespace trainyard::runtime
