// What a training step does besides computing: where every intermediate value lies (one arena, in
// which values that never live at the same time share their place) and in which order gradients
// flow back. Made once, so that a step allocates nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/graph/graph.h"
#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

// The time of a step: node i runs forward at i. The backward pass begins at the number of nodes; in
// it each node that runs backward, or forward again, has a time of its own.
struct Lifetime {
  std::int64_t first = 0;
  std::int64_t last = 0;  // included
  bool operator==(const Lifetime&) const = default;
};

// A range of the arena, in elements; none where `elements` is 0.
struct Place {
  std::int64_t offset = 0;
  std::int64_t elements = 0;
  Lifetime lifetime;
};

// One node's turn in the backward pass.
struct BackwardStep {
  NodeId node = 0;
  std::vector<NodeId> again;  // those that run forward once more before it, in this order
  // For each input: how it receives its gradient, if it does.
  std::vector<std::optional<Write>> inputs;
  // Those whose gradients nobody adds to after this step; of frozen ones, those that nobody reads
  // after it.
  std::vector<std::size_t> final_variables;
};

struct Plan {
  // By node. Features and variables have no places: they lie in the batch, the parameters and the
  // gradients.
  std::vector<Place> values;
  std::vector<Place> gradients;
  std::vector<Place> saved;
  // Of a node that runs forward twice, what is there from the second time on. Backward steps of its
  // block read this, all others the first.
  std::vector<Place> values_again;
  std::vector<Place> saved_again;
  Place scratch;  // one for all ops: each alone has it while it runs
  std::int64_t arena_elements = 0;
  std::vector<std::size_t> final_at_once;  // frozen variables that no backward step reads
  std::vector<BackwardStep> backward;      // from the loss on
};

struct PlanRequest {
  std::int64_t examples = 0;  // of the largest batch
  // Gradients flow back from here. Every variable must be upstream of it, and reached by them
  // unless it is frozen.
  NodeId loss = 0;
  std::vector<NodeId> outputs;  // keep their values to the end of the step
  std::int64_t threads = 1;     // that share the scratch
};
Plan make_plan(const Graph& graph, const PlanRequest& request, const Kernels& kernels);

}  // namespace trainyard::runtime
