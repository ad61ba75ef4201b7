// Attention, positions and rotations through the graph, alone and in a stack of transformer blocks
// that are computed again in the backward pass.
#include "tests/runtime/graph/gradient_check.h"
#include "tests/runtime/graph/graph_builders.h"
#include "tests/runtime/graph/plan_soundness.h"

namespace trainyard::runtime {

namespace {

// x [time, features] of small numbers.
NodeId sequence(Graph& graph, std::int64_t time, std::int64_t features) {
  const NodeId first = dense(graph, graph.add_features({5}), time * features);
  const NodeId scaled = graph.add(AffineOp{{.scale = 0.5F}}, {first});
  return graph.add(ReshapeOp{{time, features}}, {scaled});
}

SmallGraph ended(Graph graph, NodeId y) {
  const NodeId flat = graph.add(ReshapeOp{{graph.nodes()[y].shape.elements()}}, {y});
  const NodeId loss = graph.add(SoftmaxCrossEntropyOp{}, {dense(graph, flat, 3)});
  return {std::move(graph), loss};
}

enum class Values { apart, one };

SmallGraph attending(const SdpaOp& op, Values values) {
  Graph graph;
  const NodeId x = sequence(graph, 4, 4);
  const NodeId q = values == Values::one ? x : dense(graph, x, 4);
  const NodeId k = values == Values::one ? x : dense(graph, x, 4);
  const NodeId v = values == Values::one ? x : dense(graph, x, 4);
  const NodeId y = graph.add(op, {q, k, v});
  return ended(std::move(graph), y);
}

struct Stack {
  int depth = 2;
  std::int64_t time = 6;
  std::int64_t features = 8;
  bool recomputes = false;
};

// A block of a transformer: layer norm, attention and a residual; the same with dense layers.
class StackBuilder {
 public:
  explicit StackBuilder(const Stack& stack) : stack_(stack) {}

  SmallGraph build() {
    NodeId x = graph_.add_features({stack_.time, stack_.features});
    const NodeId table = variable({stack_.time + 1, stack_.features});
    // Variables come first, as a model's do.
    std::vector<std::vector<NodeId>> parameters;
    for (int i = 0; i < stack_.depth; ++i) parameters.push_back(variables_of_a_block());
    x = graph_.add(PositionsOp{}, {x, table});
    for (int i = 0; i < stack_.depth; ++i) x = block(i, x, parameters[static_cast<std::size_t>(i)]);
    return ended(std::move(graph_), x);
  }

 private:
  NodeId variable(const Shape& shape) {
    return graph_.add_variable("b" + std::to_string(graph_.variables().size()), shape);
  }

  std::vector<NodeId> variables_of_a_block() {
    const std::int64_t d = stack_.features;
    return {variable({d}),        variable({d}),       variable({d, d}), variable({d, d}),
            variable({d, d}),     variable({d, d}),    variable({d}),    variable({d}),
            variable({d, 4 * d}), variable({4 * d, d})};
  }

  NodeId block(int number, NodeId x, const std::vector<NodeId>& of) {
    std::optional<std::size_t> together;
    if (stack_.recomputes) together = static_cast<std::size_t>(number);
    const auto add = [&](const Op& op, std::vector<NodeId> inputs) {
      return graph_.add(op, std::move(inputs), together);
    };
    const auto layer = static_cast<std::uint32_t>(3 * number);
    const NodeId normed = add(LayerNormOp{}, {x, of[0], of[1]});
    const NodeId q = add(RopeOp{{.heads = 2}}, {add(MatMulOp{}, {normed, of[2]})});
    const NodeId k = add(RopeOp{{.heads = 2}}, {add(MatMulOp{}, {normed, of[3]})});
    const NodeId v = add(MatMulOp{}, {normed, of[4]});
    const SdpaOp op{.heads = 2, .is_causal = true, .dropout = 0.1, .layer = layer};
    const NodeId mixed = add(MatMulOp{}, {add(op, {q, k, v}), of[5]});
    const NodeId dropped = add(DropoutOp{.rate = 0.1, .layer = layer + 1}, {mixed});
    const NodeId sum = add(AddOp{}, {dropped, x});
    const NodeId wide = add(MatMulOp{}, {add(LayerNormOp{}, {sum, of[6], of[7]}), of[8]});
    const NodeId bent = add(ActivationOp{Nonlinearity::gelu_tanh}, {wide});
    const NodeId narrow = add(MatMulOp{}, {bent, of[9]});
    return add(AddOp{}, {add(DropoutOp{.rate = 0.1, .layer = layer + 2}, {narrow}), sum});
  }

  Stack stack_;
  Graph graph_;
};

// Losses, and gradients behind them.
std::vector<float> computed(const Stack& stack, std::int64_t examples,
                            std::span<const std::int32_t> lengths = {}) {
  SmallGraph small = StackBuilder(stack).build();
  const NodeId loss = small.loss;
  Executor executor(std::move(small.graph), {.examples = 8, .loss = loss, .outputs = {loss}});
  const auto parameters =
      random_values(static_cast<std::size_t>(executor.graph().arena_elements()), 3);
  const OwnedFeed owned = random_feed(examples, stack.time * stack.features);
  Feed feed = owned.feed(examples);
  feed.lengths = lengths;
  std::vector<float> gradients(parameters.size(), 99.0F);
  executor.forward(parameters, feed, Pass::train);
  const auto losses = executor.value(loss).span();
  std::vector<float> result(losses.begin(), losses.end());
  executor.backward(parameters, feed, gradients, {});
  result.insert(result.end(), gradients.begin(), gradients.end());
  return result;
}

}  // namespace

TEST_CASE("gradients through attention agree with finite differences", "[gradient]") {
  for (const Values values : {Values::apart, Values::one}) {
    for (const bool is_causal : {false, true}) {
      for (const double dropout : {0.0, 0.4}) {
        INFO("causal " << is_causal << " dropout " << dropout);
        const SdpaOp op{.heads = 2, .is_causal = is_causal, .dropout = dropout, .layer = 1};
        require_gradients_right(attending(op, values), 3);
      }
    }
  }
}

TEST_CASE("gradients through attention to another sequence agree with finite differences",
          "[gradient]") {
  Graph graph;
  const NodeId q = sequence(graph, 3, 4);
  const NodeId all = dense(graph, graph.add(ReshapeOp{{12}}, {q}), 20);
  const NodeId k = graph.add(ReshapeOp{{5, 4}}, {all});
  const NodeId y = graph.add(SdpaOp{.heads = 1, .has_lengths = false}, {q, k, k});
  require_gradients_right(ended(std::move(graph), y), 3);
}

TEST_CASE("gradients through positions and rotations agree with finite differences", "[gradient]") {
  for (const bool is_read_twice : {false, true}) {
    for (const bool is_rope : {false, true}) {
      Graph graph;
      const NodeId x = sequence(graph, 3, 4);
      NodeId y = is_rope ? graph.add(RopeOp{{.heads = 2, .theta = 10}}, {x})
                         : graph.add(PositionsOp{}, {x, graph.add_variable("positions", {4, 4})});
      if (is_read_twice) y = graph.add(BinaryOp{Binary::mul}, {y, x});
      require_gradients_right(ended(std::move(graph), y), 3);
    }
  }
}

TEST_CASE("attention through the graph does not see what is beyond a length", "[graph]") {
  const Stack stack{.depth = 1};
  const std::vector<std::int32_t> lengths{6, 2, 0};
  REQUIRE(computed(stack, 3) != computed(stack, 3, lengths));
  REQUIRE(computed(stack, 3, std::vector<std::int32_t>{6, 6, 6}) == computed(stack, 3));
  Stack again = stack;
  again.recomputes = true;
  REQUIRE(computed(again, 3, lengths) == computed(stack, 3, lengths));
}

TEST_CASE("a transformer's bytes are the same, whether blocks are kept or computed again",
          "[plan]") {
  for (const int depth : {1, 2, 5}) {
    const std::vector<float> kept = computed({.depth = depth}, 5);
    const std::vector<float> again = computed({.depth = depth, .recomputes = true}, 5);
    REQUIRE(std::memcmp(kept.data(), again.data(), kept.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("what is computed again takes the memory of one block", "[plan]") {
  const auto arena = [](int depth, bool recomputes) {
    const SmallGraph small = StackBuilder({depth, 32, 16, recomputes}).build();
    const PlanRequest request{.examples = 8, .loss = small.loss, .outputs = {small.loss}};
    const Plan plan = make_plan(small.graph, request, cpu_kernels);
    require_sound(small.graph, plan);
    return plan.arena_elements;
  };
  constexpr std::int64_t border = 8 * 32 * 16;  // of a block: its input is kept
  const std::int64_t block = arena(5, false) - arena(4, false);
  REQUIRE(block > 10 * border);
  REQUIRE(arena(12, true) - arena(4, true) == 8 * border);
  REQUIRE(arena(12, true) < arena(1, false) + block + 12 * border);
}

}  // namespace trainyard::runtime
