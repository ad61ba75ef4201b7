// The table of metrics: sums over the examples of an evaluation, without a gradient.
#include "schemas/model/sentence.h"
#include "schemas/model/shape.h"
#include "schemas/model/term_scribe.h"

namespace trainyard::model {
namespace {

// The metric means something beside one of these losses alone.
bool goes_with(TermScribe& term, const std::vector<std::string_view>& losses) {
  for (const std::string_view loss : losses) {
    if (term.has_loss(loss)) return true;
  }
  term.fault("", term.op() + " goes with the loss " + listed(losses) + ", which is not there");
  return false;
}

void accuracy(TermScribe& term) {
  goes_with(term, {"softmax_cross_entropy", "sigmoid_cross_entropy"});
}

void top_k(TermScribe& term) {
  if (!goes_with(term, {"softmax_cross_entropy"})) return;
  const Count k = term.given().integer("k");
  if (!k || term.shape(0).empty()) return;
  const std::int64_t classes = term.shape(0).back();
  if (is_known(classes) && *k >= classes) {
    term.fault("k", "top_k: of " + with_commas(classes) + " scores one is always among " +
                        with_commas(*k));
  }
}

// Labels are of two classes where this loss is.
void auc(TermScribe& term) {
  const Count scores = elements(term.shape(0));
  if (scores && *scores != 1) {
    term.fault("in", "auc reads one score, [1], but " + term.input_name(0) + " gives " +
                         to_text(term.shape(0)));
    return;
  }
  goes_with(term, {"sigmoid_cross_entropy"});
}

void perplexity(TermScribe& term) { goes_with(term, {"softmax_cross_entropy"}); }

void of_sequences(TermScribe& term) { goes_with(term, {"ctc"}); }

void recall(TermScribe& term) { goes_with(term, {"in_batch_softmax"}); }

void mean_absolute_error(TermScribe& term) { goes_with(term, {"squared_error", "huber"}); }

std::vector<TermRule> make_metrics() {
  ArgumentRule k = integer_or("k", 1, 1, 10'000);
  k.is_required = true;
  return {
      {.name = "accuracy", .check = accuracy},
      {.name = "top_k", .arguments = {k}, .check = top_k},
      {.name = "auc", .check = auc},
      {.name = "perplexity", .check = perplexity},
      {.name = "edit_distance", .check = of_sequences},
      {.name = "sequence_accuracy", .check = of_sequences},
      {.name = "recall", .inputs = 2, .arguments = {k}, .check = recall},
      {.name = "mean_absolute_error", .check = mean_absolute_error},
  };
}

}  // namespace

std::string metric_name(const AnalysedTerm& metric) {
  const bool has_k = metric.op == "top_k" || metric.op == "recall";
  const Value* const k = has_k ? find(metric.arguments, "k") : nullptr;
  if (k == nullptr || k->number() == nullptr) return metric.op;
  const std::string name = metric.op == "top_k" ? "top_" : "recall_";
  return name + std::to_string(static_cast<std::int64_t>(*k->number()));
}

std::span<const TermRule> metrics() {
  static const std::vector<TermRule> rules = make_metrics();
  return rules;
}

const TermRule* find_metric(std::string_view name) {
  for (const TermRule& rule : metrics()) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

}  // namespace trainyard::model
