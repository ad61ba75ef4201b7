// Random graphs of all ops on images, some variables of them frozen: whatever shares its memory
// with whatever, losses and gradients are those of a plan in which every value has a place of its
// own.
#include "tests/runtime/graph/gradient_check.h"
#include "tests/runtime/graph/graph_builders.h"
#include "tests/runtime/graph/plan_soundness.h"

namespace trainyard::runtime {

namespace {

enum class Kind {
  conv,
  depthwise,
  max_pool,
  avg_pool,
  batch_norm,
  layer_norm,
  rms_norm,
  group_norm,
  dropout,
  relu,
  tanh,
  sum,
  attention,
  prelu
};
constexpr std::uint32_t kinds = 14;

// Whether some nodes are computed again in the backward pass: any, not only neighbours.
enum class Blocks { none, some };

// One op: what it is, which of the values before it it reads, and its parameters.
struct Drawn {
  Kind kind;
  std::array<std::size_t, 2> from;
  std::vector<NodeId> variables = {};
};

// From [4, 5, 4] to [4, 5, 4], op after op.
class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed, Blocks blocks = Blocks::none)
      : rng_(seed, RngStream::synthetic), blocks_(blocks) {}

  SmallGraph make() {
    values_.push_back(small_.graph.add_features(image));
    for (std::size_t i = 0; i < ops; ++i) draw(i);
    for (Drawn& drawn : drawn_) declare_parameters(drawn);
    const NodeId kernel = small_.graph.add_variable("head", {4, 3});
    for (Drawn& drawn : drawn_) declare_state(drawn);
    for (std::size_t i = 0; i < ops; ++i) values_.push_back(add(drawn_[i], block_of(i)));
    const NodeId mean = small_.graph.add(GlobalAvgPoolOp{}, {values_.back()});
    small_.loss = small_.graph.add(SoftmaxCrossEntropyOp{.label_smoothing = 0.1},
                                   {small_.graph.add(MatMulOp{}, {mean, kernel})});
    return std::move(small_);
  }

  static constexpr Shape image{4, 5, 4};

 private:
  static constexpr std::size_t ops = 9;
  static constexpr Sides same{.kernel = 3, .before = 1, .after = 1};

  void draw(std::size_t i) {
    const auto words = rng_.block(i);
    const std::size_t other = words[1] % (i + 1);
    drawn_.push_back({.kind = static_cast<Kind>(words[0] % kinds),
                      .from = {words[2] % 4 == 0 ? other : i, other}});
  }

  NodeId variable(const Shape& shape, UpdateRule rule = UpdateRule::optimizer) {
    const std::size_t number = small_.graph.variables().size();
    const bool is_frozen = rule == UpdateRule::optimizer && rng_.block(1000 + number)[0] % 5 == 0;
    return small_.graph.add_variable("v" + std::to_string(number), shape,
                                     is_frozen ? UpdateRule::none : rule, 0.1);
  }

  void declare_parameters(Drawn& drawn) {
    switch (drawn.kind) {
      case Kind::conv: drawn.variables = {variable({3, 3, 4, 4}), variable({4})}; break;
      case Kind::depthwise: drawn.variables = {variable({3, 3, 4, 1})}; break;
      case Kind::batch_norm:
      case Kind::layer_norm:
      case Kind::group_norm: drawn.variables = {variable({4}), variable({4})}; break;
      case Kind::prelu:
      case Kind::rms_norm: drawn.variables = {variable({4})}; break;
      default: break;
    }
  }

  void declare_state(Drawn& drawn) {
    if (drawn.kind != Kind::batch_norm) return;
    for (int i = 0; i < 2; ++i) {
      drawn.variables.push_back(variable({4}, UpdateRule::running_average));
    }
  }

  [[nodiscard]] std::optional<std::size_t> block_of(std::size_t i) const {
    const std::uint32_t drawn = rng_.block(2000 + i)[0] % 4;
    if (blocks_ == Blocks::none || drawn == 0) return {};
    return drawn == 1 ? 0 : 1 + i / 3;
  }

  NodeId add(const Drawn& drawn, std::optional<std::size_t> block) {
    if (drawn.kind == Kind::attention) return add_attention(drawn, block);
    std::vector<NodeId> inputs{values_[drawn.from[0]]};
    if (drawn.kind == Kind::sum) inputs.push_back(values_[drawn.from[1]]);
    std::ranges::copy(drawn.variables, std::back_inserter(inputs));
    return small_.graph.add(op_of(drawn.kind), std::move(inputs), block);
  }

  // Of the pixels, one after another.
  NodeId add_attention(const Drawn& drawn, std::optional<std::size_t> block) {
    Graph& graph = small_.graph;
    const Shape sequence{image[0] * image[1], image[2]};
    const NodeId q = graph.add(ReshapeOp{sequence}, {values_[drawn.from[0]]}, block);
    const NodeId k = graph.add(ReshapeOp{sequence}, {values_[drawn.from[1]]}, block);
    const SdpaOp op{.heads = 2, .is_causal = true, .dropout = 0.3, .layer = 2};
    return graph.add(ReshapeOp{image}, {graph.add(op, {q, k, q}, block)}, block);
  }

  [[nodiscard]] Op op_of(Kind kind) const {
    const Window window = window_over(small_.graph, values_[0], same);
    switch (kind) {
      case Kind::conv: return Conv2dOp{window};
      case Kind::depthwise: return DepthwiseConv2dOp{window};
      case Kind::max_pool: return MaxPool2dOp{window};
      case Kind::avg_pool: return AvgPool2dOp{window};
      case Kind::batch_norm: return BatchNormOp{};
      case Kind::layer_norm: return LayerNormOp{};
      case Kind::rms_norm: return RmsNormOp{};
      case Kind::group_norm: return GroupNormOp{.groups = 2};
      case Kind::dropout: return DropoutOp{.rate = 0.3, .layer = 1};
      case Kind::relu: return ActivationOp{Nonlinearity::relu};
      case Kind::tanh: return ActivationOp{Nonlinearity::tanh};
      case Kind::prelu: return PreluOp{};
      case Kind::sum:
      case Kind::attention: return AddOp{};
    }
    return AddOp{};
  }

  CounterRng rng_;
  Blocks blocks_;
  SmallGraph small_;
  std::vector<Drawn> drawn_;
  std::vector<NodeId> values_;
};

struct Computed {
  std::vector<float> losses;
  std::vector<float> gradients;
  bool operator==(const Computed&) const = default;
};

constexpr std::int64_t examples = 5;

Computed compute(Executor& executor, NodeId loss, std::uint64_t seed,
                 Executor::Parameters may = Executor::Parameters::stay) {
  auto parameters =
      random_values(static_cast<std::size_t>(executor.graph().arena_elements()), seed);
  const std::int64_t elements = RandomGraph::image.elements();
  const OwnedFeed owned{
      .features = random_values(examples * static_cast<std::size_t>(elements), seed),
      .labels = {0, 2, 1, 1, 2},
      .targets = {}};
  const Feed feed = owned.feed(examples);
  executor.forward(parameters, feed, Pass::train);
  const auto losses = executor.value(loss).span();
  Computed computed{.losses = {losses.begin(), losses.end()},
                    .gradients = std::vector<float>(parameters.size(), 99.0F)};
  executor.backward(
      parameters, feed, computed.gradients,
      [&](std::size_t number) {
        if (may == Executor::Parameters::stay) return;
        const Variable& variable = executor.graph().variables()[number];
        std::fill_n(parameters.begin() + variable.offset, variable.elements, 1e6F);
      },
      may);
  return computed;
}

std::vector<NodeId> all_nodes(const Graph& graph) {
  std::vector<NodeId> nodes(graph.nodes().size());
  for (NodeId id = 0; id < nodes.size(); ++id) nodes[id] = id;
  return nodes;
}

}  // namespace

TEST_CASE("gradients of random graphs do not depend on which values share a place", "[plan]") {
  int graphs = 0;
  for (std::uint64_t seed = 0; graphs < 60; ++seed) {
    const SmallGraph small = RandomGraph(seed).make();
    if (!every_node_is_used(small)) continue;
    ++graphs;
    INFO("seed " << seed);
    const NodeId loss = small.loss;
    const PlanRequest shared{.examples = examples, .loss = loss, .outputs = {loss}};
    require_sound(small.graph, make_plan(small.graph, shared, cpu_kernels));
    Executor apart(small.graph,
                   {.examples = examples, .loss = loss, .outputs = all_nodes(small.graph)});
    const Computed expected = compute(apart, loss, 1);

    Executor executor(small.graph, shared);
    REQUIRE(compute(executor, loss, 1) == expected);
    compute(executor, loss, 2);  // leaves other numbers in all places
    REQUIRE(compute(executor, loss, 1) == expected);
    REQUIRE(compute(executor, loss, 1, Executor::Parameters::may_change_when_final) == expected);
    Executor larger(small.graph, {.examples = examples + 4, .loss = loss, .outputs = {loss}});
    REQUIRE(compute(larger, loss, 1) == expected);
    ThreadTeam team({.threads = 3, .least_nanoseconds = 0});
    PlanRequest divided = shared;
    divided.threads = 3;
    Executor by_threads(small.graph, divided, cpu_kernels, team);
    REQUIRE(compute(by_threads, loss, 1) == expected);
  }
}

TEST_CASE("gradients of random graphs do not depend on what is computed again", "[plan]") {
  int graphs = 0;
  int recomputing = 0;
  for (std::uint64_t seed = 0; graphs < 60; ++seed) {
    const SmallGraph kept = RandomGraph(seed).make();
    if (!every_node_is_used(kept)) continue;
    ++graphs;
    INFO("seed " << seed);
    const NodeId loss = kept.loss;
    const PlanRequest request{.examples = examples, .loss = loss, .outputs = {loss}};
    Executor keeps(kept.graph, request);
    const Computed expected = compute(keeps, loss, 1);

    const SmallGraph small = RandomGraph(seed, Blocks::some).make();
    const Plan plan = make_plan(small.graph, request, cpu_kernels);
    require_sound(small.graph, plan);
    if (std::ranges::any_of(plan.backward,
                            [](const BackwardStep& step) { return !step.again.empty(); })) {
      ++recomputing;
    }
    Executor executor(small.graph, request);
    REQUIRE(compute(executor, loss, 1) == expected);
    compute(executor, loss, 2);  // leaves other numbers in all places
    REQUIRE(compute(executor, loss, 1) == expected);
    REQUIRE(compute(executor, loss, 1, Executor::Parameters::may_change_when_final) == expected);
  }
  REQUIRE(recomputing > 50);
}

}  // namespace trainyard::runtime
