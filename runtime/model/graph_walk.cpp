#include "runtime/model/graph_walk.h"

#include <algorithm>
#include <utility>

#include "runtime/model/layers/builders.h"
#include "schemas/base/check.h"
#include "schemas/model/data_time.h"
#include "schemas/model/trainable.h"

namespace trainyard::runtime {
namespace {

// How a step changes a variable of the layer.
UpdateRule update_of(const model::Variable& variable) {
  if (variable.role == model::VariableRole::state) return UpdateRule::running_average;
  return variable.is_frozen ? UpdateRule::none : UpdateRule::optimizer;
}

bool is_per_token(const model::AnalysedTerm& loss) {
  return loss.op == "softmax_cross_entropy" && text_argument(loss.arguments, "per") == "token";
}

}  // namespace

BuiltModel GraphWalk::run() {
  add_variables();
  name_nodes("a variable");
  add_layers();
  add_losses();
  name_nodes("the loss");
  add_metrics();
  name_nodes("a metric");
  return std::move(built_);
}

// All nodes that have no name yet.
void GraphWalk::name_nodes(const std::string& name) {
  built_.node_layers.resize(built_.builder.graph.nodes().size(), name);
}

// In the order of the arena, which is not that of the layers where there is state.
void GraphWalk::add_variables() {
  std::vector<std::size_t> order;
  std::map<std::size_t, double> momenta;
  for (const model::AnalysedLayer& layer : analysis_.layers) {
    for (const std::size_t i : layer.variables) {
      const model::VariableRole role = analysis_.variables[i].role;
      if (role != model::VariableRole::row_table) order.push_back(i);
      if (role != model::VariableRole::state) continue;
      momenta[i] = number_argument(layer.arguments, "momentum");
    }
  }
  std::ranges::sort(order, {}, [this](std::size_t i) {
    ENSURE(analysis_.variables[i].offset.has_value());
    return *analysis_.variables[i].offset;
  });
  for (const std::size_t i : order) {
    const model::Variable& variable = analysis_.variables[i];
    const auto momentum = momenta.find(i);
    built_.builder.initial.push_back(variable.start);
    variables_[i] = built_.builder.graph.add_variable(
        variable.name, shape_of(variable.shape), update_of(variable),
        momentum == momenta.end() ? 0 : momentum->second);
    ENSURE(built_.builder.graph.variables().back().offset == *variable.offset);
  }
}

void GraphWalk::add_layers() {
  LayerContext::Model shared{
      .analysis = analysis_, .facts = facts_, .builder = built_.builder, .variables = variables_};
  for (const model::AnalysedLayer& layer : analysis_.layers) {
    const LayerBuilder* const builder = find_layer_builder(layer.op);
    ENSURE(builder != nullptr);
    std::vector<NodeId> in;
    for (const std::size_t input : layer.in) in.push_back(nodes_[input]);
    LayerContext context(shared, layer, std::move(in));
    const NodeId node = builder->build(context);
    ENSURE(built_.builder.graph.nodes()[node].shape == shape_of(*layer.shape));
    nodes_.push_back(node);
    name_nodes(layer.name + " (" + layer.op + ")");
  }
}

NodeId GraphWalk::scores_of(const Term& term) {
  const NodeId scores = nodes_[term.in.front()];
  if (built_.builder.graph.nodes()[scores].shape.rank() > 0) return scores;
  return add(ReshapeOp{{1}}, {scores});
}

bool GraphWalk::has_lengths(const Term& term) const {
  return model::follows_data_time(analysis_, term.in.front());
}

bool GraphWalk::is_of_tokens(const Term& term) const {
  return term.op == "accuracy" && analysis_.layers[term.in.front()].shape->size() > 1;
}

NodeId GraphWalk::cross_entropy_of(const Term& term, NodeId scores) {
  const double smoothing = number_argument(term.arguments, "label_smoothing");
  if (built_.builder.graph.nodes()[scores].shape.rank() == 1) {
    return add(SoftmaxCrossEntropyOp{smoothing}, {scores});
  }
  return add(TokenCrossEntropyOp{smoothing}, {scores});
}

NodeId GraphWalk::ctc_of(const Term& term, NodeId scores) {
  return add(CtcOp{.blank = integer_argument(term.arguments, "blank"),
                   .divides_by_label = text_argument(term.arguments, "per") == "label",
                   .skips_impossible = text_argument(term.arguments, "impossible") == "skip",
                   .has_lengths = has_lengths(term)},
             {scores});
}

NodeId GraphWalk::loss_of(const Term& term) {
  const NodeId scores = scores_of(term);
  if (term.op == "softmax_cross_entropy") return cross_entropy_of(term, scores);
  if (term.op == "ctc") return ctc_of(term, scores);
  if (term.op == "sigmoid_cross_entropy") {
    return add(SigmoidCrossEntropyOp{number_argument(term.arguments, "label_smoothing")}, {scores});
  }
  if (term.op == "in_batch_softmax") {
    built_.examples_max = model::in_batch_examples_max;
    std::vector<NodeId> in;
    for (const std::size_t layer : term.in) in.push_back(nodes_[layer]);
    return add(InBatchSoftmaxOp{number_argument(term.arguments, "temperature")}, std::move(in));
  }
  if (term.op == "huber") return add(HuberOp{number_argument(term.arguments, "delta")}, {scores});
  ENSURE(term.op == "squared_error");
  return add(SquaredErrorOp{}, {scores});
}

void GraphWalk::add_losses() {
  bool is_first = true;
  for (const Term& term : analysis_.losses) {
    NodeId loss = loss_of(term);
    if (is_per_token(term)) built_.mean_over = MeanOver::tokens;
    const double weight = number_argument(term.arguments, "weight");
    if (weight != 1) loss = add(AffineOp{{.scale = static_cast<float>(weight)}}, {loss});
    built_.loss = std::exchange(is_first, false) ? loss : add(AddOp{}, {built_.loss, loss});
  }
}

Op GraphWalk::metric_op(const Term& term) const {
  if (term.op == "top_k") return TopKOp{integer_argument(term.arguments, "k")};
  if (term.op == "mean_absolute_error") return AbsoluteErrorOp{};
  if (term.op == "edit_distance" || term.op == "sequence_accuracy") {
    // The blank is that of the CTC that reads the same scores.
    const auto same = std::ranges::find_if(analysis_.losses, [&term](const Term& each) {
      return each.op == "ctc" && each.in.front() == term.in.front();
    });
    ENSURE(same != analysis_.losses.end());
    const std::int64_t blank = integer_argument(same->arguments, "blank");
    if (term.op == "edit_distance") {
      return EditDistanceOp{.blank = blank, .has_lengths = has_lengths(term)};
    }
    return MatchSequenceOp{.blank = blank, .has_lengths = has_lengths(term)};
  }
  ENSURE(term.op == "accuracy");
  if (is_of_tokens(term)) return MatchTokensOp{};
  const bool is_binary = std::ranges::any_of(analysis_.losses, [&term](const Term& loss) {
    return loss.op == "sigmoid_cross_entropy" && loss.in == term.in;
  });
  return is_binary ? Op(MatchBinaryLabelsOp{}) : Op(MatchLabelsOp{});
}

// What the node's value is computed from; nothing where that is more than fields of ids.
std::vector<IdField> GraphWalk::ids_read_by(NodeId node) const {
  const std::span<const Node> nodes = built_.builder.graph.nodes();
  std::vector<bool> is_read(node + 1);
  is_read[node] = true;
  std::vector<IdField> fields;
  for (NodeId at = node + 1; at-- > 0;) {
    if (!is_read[at]) continue;
    for (const NodeId input : nodes[at].inputs) is_read[input] = true;
    const Op& op = nodes[at].op;
    if (std::holds_alternative<FeaturesOp>(op) || std::holds_alternative<SparseFeaturesOp>(op)) {
      return {};
    }
    if (const auto* const ids = std::get_if<IdsOp>(&op)) fields.push_back(ids->field);
  }
  return fields;
}

// Ids tell users and items apart where each tower has fields of its own. An only field, all of the
// batch's ids, is read by both, or has lengths.
std::array<std::vector<IdField>, 2> GraphWalk::tower_ids_of(const Term& term) const {
  std::array towers{ids_read_by(nodes_[term.in[0]]), ids_read_by(nodes_[term.in[1]])};
  const auto is_whole = [](const IdField& field) { return field.columns == 0; };
  const auto is_shared = [&towers](const IdField& field) {
    return std::ranges::find(towers[1], field.before, &IdField::before) != towers[1].end();
  };
  const bool tell =
      !towers[0].empty() && !towers[1].empty() && std::ranges::none_of(towers[0], is_shared) &&
      std::ranges::none_of(towers[0], is_whole) && std::ranges::none_of(towers[1], is_whole);
  if (!tell) return {};
  return towers;
}

void GraphWalk::add_metrics() {
  for (const Term& term : analysis_.metrics) {
    Metric metric{.name = model::metric_name(term)};
    NodeId node = built_.loss;
    std::vector<NodeId> watched;
    if (term.op == "perplexity") {
      metric.kind = Metric::Kind::exp_of_loss;
    } else if (term.op == "auc") {
      metric.kind = Metric::Kind::area;
      watched = {scores_of(term)};
    } else if (term.op == "recall") {
      metric.kind = Metric::Kind::recall;
      metric.k = integer_argument(term.arguments, "k");
      metric.tower_ids = tower_ids_of(term);
      watched = {nodes_[term.in[0]], nodes_[term.in[1]]};
      node = add(RecallInBatchOp{metric.k}, watched);
    } else {
      if (is_of_tokens(term)) metric.kind = Metric::Kind::mean_as_loss;
      node = add(metric_op(term), {scores_of(term)});
    }
    built_.metrics.push_back(std::move(metric));
    built_.metric_nodes.push_back(node);
    built_.watched.push_back(std::move(watched));
  }
}

}  // namespace trainyard::runtime
