#include "schemas/model/trainable.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "schemas/base/check.h"

namespace trainyard::model {
namespace {

// All ops are there (runtime/model/layers has a builder for each), of the others these.
constexpr std::array losses{
    "softmax_cross_entropy", "sigmoid_cross_entropy", "squared_error", "huber", "ctc",
    "in_batch_softmax"};
constexpr std::array metrics{"accuracy",   "top_k",         "mean_absolute_error",
                             "perplexity", "edit_distance", "sequence_accuracy",
                             "auc",        "recall"};
constexpr std::size_t metrics_max = 8;       // runtime/core/batch_sums.h
constexpr std::int64_t pool_taps_max = 225;  // a winner is one byte

bool is_among(const auto& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

const std::string& text_of(const Arguments& arguments, std::string_view name) {
  const Value* const value = find(arguments, name);
  ENSURE(value != nullptr && value->text() != nullptr);
  return *value->text();
}

std::int64_t product_of(const Arguments& arguments, std::string_view name) {
  const Value* const value = find(arguments, name);
  std::int64_t product = 1;
  if (value == nullptr || value->list() == nullptr) return product;
  for (const Value& item : *value->list()) product *= static_cast<std::int64_t>(*item.number());
  return product;
}

class Search {
 public:
  explicit Search(const Analysis& analysis) : analysis_(analysis) {}

  std::vector<Fault> run() {
    for (const AnalysedLayer& layer : analysis_.layers) check_layer(layer);
    check_that_all_is_trained();
    for (const AnalysedTerm& loss : analysis_.losses) check_loss(loss);
    check_what_losses_are_the_mean_of();
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
    check_kinds(layer);
    for (const std::size_t index : layer.variables) check_variable(layer, index);
    if (layer.op == "dense") check_dense(layer);
    if (layer.op == "max_pool2d" && product_of(layer.arguments, "size") > pool_taps_max) {
      note(layer.pointer, "max_pool2d with a window of more than 225 pixels");
    }
    if (layer.op == "embedding_bag" && text_of(layer.arguments, "storage") != "rows") {
      note(layer.pointer, "embedding_bag with a \"storage\" other than \"rows\"");
    }
  }

  // Ids are no tensor of the graph: an embedding reads them as they lie in the batch.
  void check_kinds(const AnalysedLayer& layer) {
    for (const std::size_t input : layer.in) {
      if (analysis_.layers[input].kind != ElementKind::id || layer.op == "embedding") continue;
      note(layer.pointer, layer.op + " of ids");
    }
  }

  void check_variable(const AnalysedLayer& layer, std::size_t index) {
    const Variable& variable = analysis_.variables[index];
    if (variable.role != VariableRole::row_table) return;
    if (variable.is_frozen) note(layer.pointer, "\"freeze\" of a table of rows");
    const StartKind kind = variable.start.kind;
    const bool is_zero = kind == StartKind::constant && variable.start.scale == 0;
    if (!is_zero && kind != StartKind::uniform) {
      note(layer.pointer, "a table of rows that starts otherwise than uniform or as zeros");
    }
  }

  void check_dense(const AnalysedLayer& layer) {
    const bool is_tied_to_rows =
        layer.tied_to && analysis_.variables[*layer.tied_to].role == VariableRole::row_table;
    if (is_tied_to_rows) note(layer.pointer, "\"tie\" to a table of rows");
    // Each step would have a gradient of that width for every feature.
    const bool is_sparse = analysis_.layers[layer.in.front()].kind == ElementKind::sparse;
    if (is_sparse && layer.shape && layer.shape->back() != 1) {
      add({layer.pointer,
           "a dense layer of more than one unit needs dense features, and these are sparse; an "
           "embedding_bag with \"storage\": \"rows\" takes them"});
    }
  }

  // What no loss depends on has no gradient, and a model without a gradient has nothing to learn.
  void check_that_all_is_trained() {
    std::vector<bool> is_read(analysis_.layers.size(), false);
    for (const AnalysedTerm& loss : analysis_.losses) {
      for (const std::size_t input : loss.in) is_read[input] = true;
    }
    bool is_any_trained = false;
    for (std::size_t i = analysis_.layers.size(); i-- > 0;) {
      const AnalysedLayer& layer = analysis_.layers[i];
      if (!is_read[i]) {
        if (layer.variables.empty() && !layer.tied_to) continue;
        add({layer.pointer, "has variables, but no loss depends on it: nothing would train them"});
        continue;
      }
      for (const std::size_t input : layer.in) is_read[input] = true;
      for (const std::size_t index : layer.variables) {
        const Variable& variable = analysis_.variables[index];
        if (variable.role != VariableRole::state && !variable.is_frozen) is_any_trained = true;
      }
    }
    if (!is_any_trained && !analysis_.losses.empty()) {
      add({analysis_.losses.front().pointer, "depends on no variable that is trained"});
    }
  }

  void check_loss(const AnalysedTerm& loss) {
    if (!is_among(losses, loss.op)) return note(loss.pointer, "the loss " + loss.op);
    if (!is_per_token(loss)) return;
    const bool has_rows = std::ranges::any_of(analysis_.variables, [](const Variable& variable) {
      return variable.role == VariableRole::row_table;
    });
    if (has_rows) note(loss.pointer, "a loss for each token beside a table of rows");
  }

  // A step's gradient is one sum, divided by one number.
  void check_what_losses_are_the_mean_of() {
    const auto of_tokens = std::ranges::count_if(analysis_.losses, is_per_token);
    if (of_tokens == 0 || of_tokens == std::ssize(analysis_.losses)) return;
    note(analysis_.losses.front().pointer, "a loss for each token beside one for each example");
  }

  static bool is_per_token(const AnalysedTerm& loss) {
    return loss.op == "softmax_cross_entropy" && text_of(loss.arguments, "per") == "token";
  }

  void check_metric(const AnalysedTerm& metric) {
    if (!is_among(metrics, metric.op)) return note(metric.pointer, "the metric " + metric.op);
    if (metric.op == "accuracy" || metric.op == "top_k") check_metric_of_scores(metric);
    const bool is_of_examples = std::ranges::none_of(analysis_.losses, is_per_token);
    if (metric.op == "perplexity" && is_of_examples && reads_tokens(metric)) {
      add({metric.pointer,
           "perplexity of a loss for each example says nothing of tokens: let the "
           "loss have \"per\": \"token\""});
    }
    const bool is_of_ctc = metric.op == "edit_distance" || metric.op == "sequence_accuracy";
    if (is_of_ctc && !is_read_by_ctc(metric.in.front())) {
      note(metric.pointer, metric.op + " of a layer that no ctc reads");
    }
    const std::string name = metric_name(metric);
    if (!names_.insert(name).second) add({metric.pointer, "is a second \"" + name + "\""});
    if (names_.size() > metrics_max) note(metric.pointer, "a ninth metric");
  }

  [[nodiscard]] bool reads_tokens(const AnalysedTerm& term) const {
    const MaybeShape& scores = analysis_.layers[term.in.front()].shape;
    return scores && scores->size() > 1;
  }

  void check_metric_of_scores(const AnalysedTerm& metric) {
    if (!reads_tokens(metric)) return;
    if (metric.op == "top_k") return note(metric.pointer, "top_k for each token");
    const bool has_loss = std::ranges::any_of(analysis_.losses, [&metric](const auto& loss) {
      return is_per_token(loss) && loss.in == metric.in;
    });
    if (!has_loss) note(metric.pointer, "accuracy of tokens that no loss for each token reads");
  }

  [[nodiscard]] bool is_read_by_ctc(std::size_t layer) const {
    return std::ranges::any_of(analysis_.losses, [layer](const AnalysedTerm& loss) {
      return loss.op == "ctc" && loss.in.front() == layer;
    });
  }

  const Analysis& analysis_;
  std::vector<Fault> faults_;
  std::set<std::string> noted_;
  std::set<std::string> names_;  // of metrics
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
