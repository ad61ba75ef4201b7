// Frozen variables: no gradient is computed, the others' are as they would be.
#include "tests/runtime/graph/gradient_check.h"
#include "tests/runtime/graph/graph_builders.h"

namespace trainyard::runtime {

namespace {

constexpr std::size_t layers = 3;
using Rules = std::array<UpdateRule, layers>;
constexpr UpdateRule learns = UpdateRule::optimizer;
constexpr UpdateRule frozen = UpdateRule::none;

// features [5] -> dense 4 -> tanh -> dense 4 -> tanh -> dense 3 -> cross entropy; variables 2 l and
// 2 l + 1 are the kernel and the bias of layer l.
SmallGraph three_layers(const Rules& rules) {
  SmallGraph small;
  Graph& graph = small.graph;
  NodeId x = graph.add_features({5});
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const std::int64_t units = layer + 1 == layers ? 3 : 4;
    const std::int64_t in = graph.nodes()[x].shape.columns();
    const NodeId kernel = graph.add_variable("kernel", {in, units}, rules[layer]);
    const NodeId bias = graph.add_variable("bias", {units}, rules[layer]);
    if (layer > 0) x = graph.add(ActivationOp{Nonlinearity::tanh}, {x});
    x = graph.add(MatMulOp{}, {x, kernel, bias});
  }
  small.loss = graph.add(SoftmaxCrossEntropyOp{}, {x});
  return small;
}

struct Gradients {
  std::vector<float> values;
  std::vector<std::size_t> finals;
  std::vector<Variable> variables;
};

Gradients gradients_of(const Rules& rules, Executor::Parameters may) {
  SmallGraph small = three_layers(rules);
  Executor executor(std::move(small.graph),
                    {.examples = 4, .loss = small.loss, .outputs = {small.loss}});
  auto parameters = random_values(static_cast<std::size_t>(executor.graph().arena_elements()), 3);
  const OwnedFeed owned = random_feed(4, 5);
  const auto variables = executor.graph().variables();
  Gradients found{.values = std::vector<float>(parameters.size(), 99.0F),
                  .finals = {},
                  .variables = {variables.begin(), variables.end()}};
  executor.forward(parameters, owned.feed(4), Pass::train);
  executor.backward(
      parameters, owned.feed(4), found.values,
      [&](std::size_t number) {
        found.finals.push_back(number);
        if (may == Executor::Parameters::stay) return;
        const Variable& variable = found.variables[number];  // which nobody reads any more
        std::fill_n(parameters.begin() + variable.offset, variable.elements, 1e6F);
      },
      may);
  return found;
}

}  // namespace

TEST_CASE("gradients beside frozen variables agree with finite differences", "[gradient]") {
  for (const Rules& rules : {Rules{frozen, learns, learns}, Rules{learns, frozen, learns},
                             Rules{learns, learns, frozen}, Rules{frozen, learns, frozen}}) {
    require_gradients_right(three_layers(rules), 4);
  }
}

TEST_CASE("frozen variables are final once, read no more, with zeros for gradients", "[state]") {
  const Gradients all = gradients_of({learns, learns, learns}, Executor::Parameters::stay);
  for (const Rules& rules : {Rules{frozen, learns, learns}, Rules{learns, frozen, learns},
                             Rules{learns, learns, frozen}, Rules{frozen, frozen, frozen}}) {
    for (const auto may :
         {Executor::Parameters::stay, Executor::Parameters::may_change_when_final}) {
      const Gradients some = gradients_of(rules, may);
      for (const Variable& variable : some.variables) {
        for (std::int64_t i = 0; i < variable.elements; ++i) {
          const auto at = static_cast<std::size_t>(variable.offset + i);
          REQUIRE(some.values[at] == (variable.update == frozen ? 0.0F : all.values[at]));
        }
      }
      std::vector<std::size_t> finals = some.finals;
      std::ranges::sort(finals);
      REQUIRE(finals == std::vector<std::size_t>{0, 1, 2, 3, 4, 5});
    }
  }
}

TEST_CASE("what no backward step reads is final before the first", "[state]") {
  const auto may = Executor::Parameters::may_change_when_final;
  // Nothing flows back into the first layer; the second one's kernel is read for what does.
  REQUIRE(gradients_of({frozen, learns, learns}, may).finals ==
          std::vector<std::size_t>{0, 1, 4, 5, 2, 3});
  REQUIRE(gradients_of({learns, frozen, learns}, may).finals ==
          std::vector<std::size_t>{4, 5, 2, 3, 0, 1});
}

TEST_CASE("below frozen layers nothing is kept for the backward pass", "[plan]") {
  const auto elements = [](UpdateRule rule) {
    Graph graph;
    NodeId x = graph.add_features({64});
    for (int layer = 0; layer < 20; ++layer) {
      const NodeId kernel =
          graph.add_variable("kernel", {64, 64}, layer < 19 ? rule : UpdateRule::optimizer);
      x = graph.add(ActivationOp{Nonlinearity::relu}, {graph.add(MatMulOp{}, {x, kernel})});
    }
    const NodeId loss = graph.add(SoftmaxCrossEntropyOp{}, {x});
    return make_plan(graph, {.examples = 32, .loss = loss, .outputs = {}}, cpu_kernels)
        .arena_elements;
  };
  constexpr std::int64_t layer_elements = 32 * 64;
  REQUIRE(elements(learns) >= 20 * layer_elements);
  REQUIRE(elements(frozen) <= 5 * layer_elements);
}

}  // namespace trainyard::runtime
