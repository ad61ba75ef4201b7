#include "schemas/model/trainable.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "schemas/base/check.h"

namespace trainyard::model {
namespace {

constexpr std::array ops{"input",         "dense", "flatten", "reshape", "add",
                         "embedding_bag", "relu",  "sigmoid", "tanh"};
constexpr std::array activations{"none", "relu", "sigmoid", "tanh"};
constexpr std::array losses{"softmax_cross_entropy", "sigmoid_cross_entropy", "squared_error"};
constexpr std::array metrics{"accuracy"};

bool is_among(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

const std::string& text_of(const Arguments& arguments, std::string_view name) {
  const Value* const value = find(arguments, name);
  ENSURE(value != nullptr && value->text() != nullptr);
  return *value->text();
}

bool is_number(const Arguments& arguments, std::string_view name, double number) {
  const Value* const value = find(arguments, name);
  return value == nullptr || value->number() == nullptr || *value->number() == number;
}

class Search {
 public:
  explicit Search(const Analysis& analysis) : analysis_(analysis) {}

  std::vector<Fault> run() {
    for (const AnalysedLayer& layer : analysis_.layers) check_layer(layer);
    for (const AnalysedTerm& loss : analysis_.losses) check_loss(loss);
    if (analysis_.losses.size() > 1) note(analysis_.losses[1].pointer, "a sum of losses");
    for (const AnalysedTerm& metric : analysis_.metrics) check_metric(metric);
    return std::move(faults_);
  }

 private:
  // A layer that is repeated is written once.
  void note(const std::string& pointer, std::string_view what) {
    std::string message(what);
    message += " is not in this version yet";
    add({pointer, std::move(message), FaultKind::not_yet});
  }

  void add(Fault fault) {
    if (!noted_.insert(fault.pointer + '\n' + fault.message).second) return;
    faults_.push_back(std::move(fault));
  }

  void check_layer(const AnalysedLayer& layer) {
    if (!is_among(ops, layer.op)) return note(layer.pointer, layer.op);
    if (layer.tied_to) note(layer.pointer, "\"tie\"");
    if (layer.recompute_block) note(layer.pointer, "\"recompute\"");
    for (const std::size_t index : layer.variables) check_variable(layer, index);
    if (layer.op == "dense") check_dense(layer);
    if (layer.op == "embedding_bag" && text_of(layer.arguments, "storage") != "rows") {
      note(layer.pointer, "embedding_bag with a \"storage\" other than \"rows\"");
    }
    if (layer.op == "add") check_sum(layer);
  }

  void check_variable(const AnalysedLayer& layer, std::size_t index) {
    const Variable& variable = analysis_.variables[index];
    if (variable.is_frozen) note(layer.pointer, "\"freeze\"");
    const StartKind kind = variable.start.kind;
    if (variable.role == VariableRole::row_table) {
      const bool is_zero = kind == StartKind::constant && variable.start.scale == 0;
      if (!is_zero && kind != StartKind::uniform) {
        note(layer.pointer, "a table of rows that starts otherwise than uniform or as zeros");
      }
    } else if (kind != StartKind::constant && kind != StartKind::normal &&
               kind != StartKind::uniform) {
      note(layer.pointer, "this initialiser");
    }
  }

  void check_dense(const AnalysedLayer& layer) {
    const std::string& activation = text_of(layer.arguments, "activation");
    if (!is_among(activations, activation)) note(layer.pointer, "the activation " + activation);
    // Each step would have a gradient of that width for every feature.
    const bool is_sparse = analysis_.layers[layer.in.front()].kind == ElementKind::sparse;
    if (is_sparse && layer.shape && layer.shape->back() != 1) {
      add({layer.pointer,
           "a dense layer of more than one unit needs dense features, and these are sparse; an "
           "embedding_bag with \"storage\": \"rows\" takes them"});
    }
  }

  void check_sum(const AnalysedLayer& layer) {
    for (const std::size_t input : layer.in) {
      const MaybeShape& shape = analysis_.layers[input].shape;
      if (shape && layer.shape && *shape != *layer.shape)
        note(layer.pointer, "a sum of two shapes");
    }
  }

  void check_loss(const AnalysedTerm& loss) {
    if (!is_among(losses, loss.op)) return note(loss.pointer, "the loss " + loss.op);
    if (!is_number(loss.arguments, "weight", 1)) note(loss.pointer, "\"weight\" of a loss");
    if (!is_number(loss.arguments, "label_smoothing", 0)) note(loss.pointer, "\"label_smoothing\"");
    const Analysis& analysis = analysis_;
    const MaybeShape& scores = analysis.layers[loss.in.front()].shape;
    if (scores && scores->size() != 1) note(loss.pointer, "a loss for each token");
  }

  void check_metric(const AnalysedTerm& metric) {
    const bool is_of_loss = metric.in == analysis_.losses.front().in;
    if (!is_among(metrics, metric.op) || !is_of_loss) {
      note(metric.pointer, "the metric " + metric.op);
    }
  }

  const Analysis& analysis_;
  std::vector<Fault> faults_;
  std::set<std::string> noted_;
};

}  // namespace

std::vector<Fault> not_trainable_yet(const Written& written, const Analysis& analysis,
                                     const std::string& pointer) {
  std::vector<Fault> faults = Search(analysis).run();
  if (std::holds_alternative<Model>(written)) return faults;
  // What a call of the zoo stands for is not what the user wrote.
  for (Fault& fault : faults) {
    fault.message += " (in what it stands for, at " + fault.pointer.substr(pointer.size()) + ")";
    fault.pointer = pointer;
  }
  return faults;
}

}  // namespace trainyard::model
