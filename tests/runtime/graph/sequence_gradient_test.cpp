// Ops of sequences in graphs: gradients against finite differences, and losses that do not depend
// on how a batch is cut.
#include "runtime/graph/executor.h"
#include "tests/runtime/graph/gradient_check.h"
#include "tests/runtime/graph/graph_builders.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t sequence_time = 4;
constexpr std::int64_t sequence_examples = 3;

template <class Kind>
NodeId recurrent(Graph& graph, NodeId x, std::int64_t units, const Kind& op) {
  const std::int64_t in = graph.nodes()[x].shape.columns();
  const RecurrentCell cell = recurrence_of(op).cell;
  const std::int64_t gates = gates_of(cell) * units;
  const std::string name = "v" + std::to_string(graph.variables().size());
  std::vector<NodeId> inputs{x, graph.add_variable(name + "/kernel", {in, gates}),
                             graph.add_variable(name + "/recurrent_kernel", {units, gates}),
                             graph.add_variable(name + "/bias", {gates})};
  if (cell == RecurrentCell::gru) {
    inputs.push_back(graph.add_variable(name + "/recurrent_bias", {units}));
  }
  return graph.add(op, std::move(inputs));
}

OwnedFeed sequence_feed(std::int64_t features = 0) {
  const auto count = static_cast<std::size_t>(sequence_examples * sequence_time * features);
  return {.features = random_values(count, 1),
          .labels = {0, 2, 1},
          .targets = {},
          .ids = {1, 4, 4, 2, 3, 1, 0, 0, 4, 2, 1, 0},
          .lengths = {4, 2, 3},
          .token_labels = {0, 2, 2, 1, 1, 0, 0, 0, 2, 1, 0, 0},
          .symbols = {1, 2, 2, 1},
          .symbol_offsets = {0, 2, 3, 4}};
}

// ids [4] -> embedding 3, twice over one table -> `first` of all steps -> `second` of the last.
template <class Kind>
SmallGraph classifier_of(const Kind& op) {
  SmallGraph small;
  Graph& graph = small.graph;
  const NodeId ids = graph.add_ids(sequence_time);
  const NodeId table = graph.add_variable("table", {5, 3});
  const NodeId x = graph.add(
      AddOp{}, {graph.add(EmbeddingOp{}, {ids, table}), graph.add(EmbeddingOp{}, {ids, table})});
  Kind all = op;
  all.along = {.output = Recurrence::Output::all, .has_lengths = true};
  Kind back = all;
  back.along.order = TimeOrder::backward;
  const NodeId both =
      graph.add(ConcatOp{1}, {recurrent(graph, x, 2, all), recurrent(graph, x, 2, back)});
  const NodeId last =
      graph.add(ConcatOp{0}, {recurrent(graph, both, 3, op), recurrent(graph, both, 2, [&] {
                                Kind reverse = op;
                                reverse.along.order = TimeOrder::backward;
                                return reverse;
                              }())});
  small.loss = graph.add(SoftmaxCrossEntropyOp{}, {dense(graph, last, 3)});
  return small;
}

}  // namespace

TEST_CASE("gradients of recurrent networks over embeddings agree with finite differences",
          "[gradient][recurrence]") {
  const Along along{.has_lengths = true};
  require_gradients_right(classifier_of(LstmOp{along}), sequence_examples, sequence_feed());
  require_gradients_right(classifier_of(GruOp{along}), sequence_examples, sequence_feed());
  require_gradients_right(classifier_of(RnnOp{along}), sequence_examples, sequence_feed());
}

TEST_CASE("gradients of a recurrence over full sequences agree with finite differences",
          "[gradient][recurrence]") {
  SmallGraph small;
  Graph& graph = small.graph;
  const NodeId x = dense(graph, graph.add_features({sequence_time, 2}), 3);
  const NodeId h = recurrent(graph, x, 3, LstmOp{{.output = Recurrence::Output::all}});
  const NodeId last = recurrent(graph, graph.add(AddOp{}, {h, x}), 2, GruOp{});
  small.loss = graph.add(SoftmaxCrossEntropyOp{}, {dense(graph, last, 3)});
  require_gradients_right(std::move(small), sequence_examples, sequence_feed(2));
}

TEST_CASE("gradients of losses of sequences agree with finite differences", "[gradient][ctc]") {
  SmallGraph tokens;
  tokens.loss =
      tokens.graph.add(TokenCrossEntropyOp{.label_smoothing = 0.2},
                       {dense(tokens.graph, tokens.graph.add_features({sequence_time, 3}), 3)});
  require_gradients_right(std::move(tokens), sequence_examples, sequence_feed(3));
  for (const bool has_lengths : {true, false}) {
    SmallGraph texts;
    texts.loss = texts.graph.add(
        CtcOp{.blank = 1, .divides_by_label = has_lengths, .has_lengths = has_lengths},
        {dense(texts.graph, texts.graph.add_features({sequence_time, 3}), 3)});
    require_gradients_right(std::move(texts), sequence_examples, sequence_feed(3));
  }
}

TEST_CASE("losses of sequences do not depend on how a batch is cut, and metrics are theirs",
          "[graph][recurrence]") {
  SmallGraph small = classifier_of(LstmOp{{.has_lengths = true}});
  const NodeId loss = small.loss;
  const NodeId scores = small.graph.nodes()[loss].inputs[0];
  Executor executor(std::move(small.graph),
                    {.examples = sequence_examples, .loss = loss, .outputs = {loss, scores}});
  const std::vector<float> parameters =
      random_values(static_cast<std::size_t>(executor.graph().arena_elements()), 3);
  const OwnedFeed owned = sequence_feed();
  executor.forward(parameters, owned.feed(sequence_examples), Pass::train);
  const auto whole_losses = executor.value(loss).span();
  const std::vector<float> whole(whole_losses.begin(), whole_losses.end());
  for (std::int64_t i = 0; i < sequence_examples; ++i) {
    Feed one = owned.feed(1);
    const auto at = static_cast<std::size_t>(i);
    one.labels = one.labels.subspan(at, 1);
    one.ids = one.ids.subspan(at * sequence_time, sequence_time);
    one.lengths = one.lengths.subspan(at, 1);
    executor.forward(parameters, one, Pass::evaluate);
    REQUIRE(executor.value(loss).data[0] == whole[at]);
  }
}

TEST_CASE("edit distances and matches of sequences are numbers of examples", "[graph][ctc]") {
  Graph graph;
  const NodeId x = graph.add_features({sequence_time, 3});
  const NodeId kernel = graph.add_variable("one", {3, 3});
  const NodeId scores = graph.add(MatMulOp{}, {x, kernel});
  const NodeId loss = graph.add(CtcOp{}, {scores});
  const NodeId edits = graph.add(EditDistanceOp{}, {scores});
  const NodeId matches = graph.add(MatchSequenceOp{}, {scores});
  REQUIRE_FALSE(graph.nodes()[edits].needs_gradient);
  Executor executor(std::move(graph),
                    {.examples = 2, .loss = loss, .outputs = {loss, edits, matches}});
  std::vector<float> parameters(static_cast<std::size_t>(executor.graph().arena_elements()));
  for (const std::size_t i : {0U, 4U, 8U}) parameters[i] = 1;
  // The blank is 0: "ab" and "b" are written, "ab" and "a" are right.
  const std::vector<float> features{0, 5, 0, 5, 0, 0, 0, 0, 5, 0, 0, 5,
                                    5, 0, 0, 0, 0, 5, 0, 0, 5, 5, 0, 0};
  const std::vector<std::int32_t> symbols{1, 2, 1};
  const std::vector<std::int32_t> offsets{0, 2, 3};
  executor.forward(parameters,
                   {.examples = 2,
                    .features = features,
                    .labels = {},
                    .targets = {},
                    .symbols = symbols,
                    .symbol_offsets = offsets},
                   Pass::evaluate);
  REQUIRE(std::ranges::equal(executor.value(edits).span(), std::vector<float>{0, 1}));
  REQUIRE(std::ranges::equal(executor.value(matches).span(), std::vector<float>{1, 0}));
}

}  // namespace trainyard::runtime
