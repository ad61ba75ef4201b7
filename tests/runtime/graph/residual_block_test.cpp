// A small residual network against PyTorch (tests/golden/make_block.py): every op that images need,
// at once.
#include "tests/golden/golden.h"
#include "tests/runtime/graph/gradient_check.h"
#include "tests/runtime/graph/graph_builders.h"

namespace trainyard::runtime {

namespace {

using Values = std::vector<float>;

struct Network {
  Graph graph;
  NodeId loss = 0;
};

// Averages come last in the arena, so all variables are declared before the ops.
class NetworkMaker {
 public:
  Network make() {
    const NodeId image = graph().add_features({9, 10, 3});
    add_parameters();
    add_averages();
    NodeId x = normed("stem", convolved("stem", image, {.kernel = 3, .before = 1, .after = 1}));
    x = relu(x);
    x = graph().add(MaxPool2dOp{window_over(graph(), x, half)}, {x});
    NodeId y = relu(normed("first", convolved("first", x, half)));
    y = normed("second", convolved("second", y, {.kernel = 3, .before = 1, .after = 1}));
    const NodeId shortcut =
        normed("shortcut", convolved("shortcut", x, {.kernel = 1, .stride = 2}));
    x = graph().add(GlobalAvgPoolOp{}, {relu(graph().add(AddOp{}, {y, shortcut}))});
    x = graph().add(MatMulOp{}, {x, at("head.weight"), at("head.bias")});
    network_.loss = graph().add(SoftmaxCrossEntropyOp{.label_smoothing = 0.1}, {x});
    return std::move(network_);
  }

 private:
  static constexpr Sides half{.kernel = 3, .stride = 2, .before = 1, .after = 1};

  Graph& graph() { return network_.graph; }
  [[nodiscard]] NodeId at(const std::string& name) const { return ids_.at(name); }

  void add(const std::string& name, const Shape& shape) {
    ids_[name] = graph().add_variable(name, shape);
  }

  void add_parameters() {
    add("stem.weight", {3, 3, 3, 8});
    add("stem.bias", {8});
    add_norm("stem", 8);
    add("first.weight", {3, 3, 8, 12});
    add_norm("first", 12);
    add("second.weight", {3, 3, 12, 12});
    add_norm("second", 12);
    add("shortcut.weight", {1, 1, 8, 12});
    add_norm("shortcut", 12);
    add("head.weight", {12, 5});
    add("head.bias", {5});
  }

  void add_norm(const std::string& name, std::int64_t channels) {
    add(name + "_norm.weight", {channels});
    add(name + "_norm.bias", {channels});
  }

  void add_averages() {
    for (const std::string name : {"stem", "first", "second", "shortcut"}) {
      const Shape channels = graph().nodes()[at(name + "_norm.bias")].shape;
      for (const std::string kind : {"mean", "var"}) {
        const std::string full = name + "_norm.running_" + kind;
        ids_[full] = graph().add_variable(full, channels, UpdateRule::running_average, 0.1);
      }
    }
  }

  NodeId convolved(const std::string& name, NodeId x, const Sides& sides) {
    std::vector<NodeId> inputs{x, at(name + ".weight")};
    if (ids_.contains(name + ".bias")) inputs.push_back(at(name + ".bias"));
    return graph().add(Conv2dOp{window_over(graph(), x, sides)}, std::move(inputs));
  }

  NodeId normed(const std::string& name, NodeId x) {
    return graph().add(BatchNormOp{},
                       {x, at(name + "_norm.weight"), at(name + "_norm.bias"),
                        at(name + "_norm.running_mean"), at(name + "_norm.running_var")});
  }

  NodeId relu(NodeId x) { return graph().add(ActivationOp{Nonlinearity::relu}, {x}); }

  Network network_;
  std::map<std::string, NodeId> ids_;
};

void require_near(std::span<const float> got, const Values& expected, const std::string& what) {
  INFO(what);
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("element " << i);
    REQUIRE(static_cast<double>(got[i]) ==
            Approx(static_cast<double>(expected[i])).epsilon(1e-5).margin(1e-5));
  }
}

template <class Arena>
auto range_in(const Variable& variable, Arena& arena) {
  return std::span(arena).subspan(static_cast<std::size_t>(variable.offset),
                                  static_cast<std::size_t>(variable.elements));
}

// As the ps applies what stands in the gradient's place.
void move_average(const Variable& variable, std::span<float> average, std::span<const float> sums,
                  std::int64_t examples) {
  const auto momentum = static_cast<float>(variable.momentum);
  for (std::size_t i = 0; i < average.size(); ++i) {
    average[i] += momentum * (sums[i] / static_cast<float>(examples) - average[i]);
  }
}

}  // namespace

TEST_CASE("a residual network's losses, gradients and averages are PyTorch's", "[golden]") {
  const auto golden = load_golden("block.json");
  const Values x = golden["x"];
  const std::vector<std::int32_t> labels = golden["labels"];
  const std::int64_t examples = std::ssize(labels);
  const Feed feed{.examples = examples, .features = x, .labels = labels, .targets = {}};
  Network network = NetworkMaker().make();
  const NodeId loss = network.loss;
  Executor executor(std::move(network.graph),
                    {.examples = examples + 2, .loss = loss, .outputs = {loss}});
  Values parameters(static_cast<std::size_t>(executor.graph().arena_elements()));
  Values gradients(parameters.size(), 99.0F);
  const auto variables = executor.graph().variables();
  for (const Variable& variable : variables) {
    const auto range = range_in(variable, parameters);
    if (variable.update == UpdateRule::optimizer) {
      std::ranges::copy(golden["parameters"][variable.name].get<Values>(), range.begin());
    } else if (variable.name.ends_with("running_var")) {
      std::ranges::fill(range, 1.0F);
    }
  }

  executor.forward(parameters, feed, Pass::train);
  require_near(executor.value(loss).span(), golden["losses"].get<Values>(), "losses");
  executor.backward(parameters, feed, gradients, {});

  for (const Variable& variable : variables) {
    if (variable.update == UpdateRule::optimizer) {
      const Values expected = golden["gradients"][variable.name];
      require_near(range_in(variable, gradients), expected, "gradient of " + variable.name);
    } else {
      move_average(variable, range_in(variable, parameters), range_in(variable, gradients),
                   examples);
      const Values expected = golden["state"][variable.name];
      require_near(range_in(variable, parameters), expected, variable.name);
    }
  }
  executor.forward(parameters, feed, Pass::evaluate);
  require_near(executor.value(loss).span(), golden["evaluated"].get<Values>(), "evaluation");
}

}  // namespace trainyard::runtime
