// The table of losses: a number for each example (or token), whose mean is made small.
#include "schemas/model/sentence.h"
#include "schemas/model/shape.h"
#include "schemas/model/term_scribe.h"

namespace trainyard::model {
namespace {

constexpr std::size_t scores_rank = 4;

// A label is beside each token of the example.
void has_scores_of_each_token(TermScribe& term) {
  const Sizes& scores = term.shape(0);
  if (scores.size() > 2) {
    return term.fault("in", "softmax_cross_entropy: " + term.input_name(0) + " gives " +
                                to_text(scores) +
                                ", and a label for each token needs [time, classes]");
  }
  for (const Field& field : term.facts().fields) {
    if (field.kind != ElementKind::id || !field.shape || field.shape->size() != 1) continue;
    if (may_be_equal(field.shape->front(), scores.front())) continue;
    term.fault("in", "softmax_cross_entropy: " + term.input_name(0) + " gives scores for " +
                         with_commas(scores.front()) + " tokens, and an example of " +
                         quoted(term.facts().dataset) + " has " +
                         with_commas(field.shape->front()));
  }
}

// Scores [classes], or [.., classes] with a label for each token.
void softmax_cross_entropy(TermScribe& term) {
  const bool per_token = term.given().text("per") == "token";
  if (!term.has_rank(0, 1, scores_rank, per_token ? "[.., classes]" : "[classes]")) return;
  const bool is_flat = term.shape(0).size() == 1;
  if (per_token && is_flat) {
    term.fault("per", "softmax_cross_entropy: " + term.input_name(0) + " gives " +
                          to_text(term.shape(0)) + " for an example, and no tokens");
    return;
  }
  if (is_flat) {
    if (!term.has_labels({LabelKind::class_index}, "classes")) return;
    term.has_as_many(0, term.facts().classes, "classes");
    return;
  }
  if (term.facts().label_kind == LabelKind::class_index) {
    term.fault("in", "softmax_cross_entropy: " + term.input_name(0) + " gives " +
                         to_text(term.shape(0)) + ", and an example has one class: [classes] is " +
                         "needed");
    return;
  }
  if (!term.has_labels({LabelKind::tokens}, "tokens")) return;
  term.has_as_many(0, term.facts().vocabulary, "tokens in its vocabulary");
  if (term.facts().label_kind == LabelKind::tokens) has_scores_of_each_token(term);
}

// A score [1] or [] of the second of two classes.
void sigmoid_cross_entropy(TermScribe& term) {
  if (!term.has_rank(0, 0, 1, "one score, [1]")) return;
  const Count scores = elements(term.shape(0));
  if (scores && *scores != 1) {
    term.fault("in", "sigmoid_cross_entropy reads one score, [1], but " + term.input_name(0) +
                         " gives " + to_text(term.shape(0)));
    return;
  }
  if (!term.has_labels({LabelKind::class_index}, "two classes")) return;
  const Count classes = term.facts().classes;
  if (classes && is_known(*classes) && *classes != 2) {
    term.fault("", "sigmoid_cross_entropy tells two classes apart, and " +
                       dataset_words(term.facts().dataset) + " has " + with_commas(*classes));
  }
}

// A prediction [1] or [] for each number.
void of_numbers(TermScribe& term) {
  if (!term.has_rank(0, 0, 1, "one prediction, [1]")) return;
  const Count predictions = elements(term.shape(0));
  if (predictions && *predictions != 1) {
    term.fault("in", term.op() + " reads one prediction, [1], but " + term.input_name(0) +
                         " gives " + to_text(term.shape(0)));
    return;
  }
  term.has_labels({LabelKind::number}, "numbers");
}

// Scores [time, symbols].
void ctc(TermScribe& term) {
  if (!term.has_rank(0, 2, 2, "[time, symbols]")) return;
  if (!term.has_labels({LabelKind::symbols}, "texts of symbols")) return;
  term.has_as_many(0, term.facts().symbols, "symbols, the blank among them");
  const Count blank = term.given().integer("blank");
  const std::int64_t symbols = term.shape(0).back();
  if (blank && is_known(symbols) && *blank >= symbols) {
    term.fault("blank", "ctc: there are " + with_commas(symbols) + " symbols, counted from 0, " +
                            "and the blank is " + with_commas(*blank));
  }
}

// Two towers, [features] each: the right item of a user is that of its own example. And, perhaps,
// the logarithm of how often the item comes, [1] or [].
void in_batch_softmax(TermScribe& term) {
  if (!term.has_rank(0, 1, 1, "[features]") || !term.has_rank(1, 1, 1, "[features]")) return;
  if (term.inputs() > 2) {
    if (!term.has_rank(2, 0, 1, "one number, [1]")) return;
    const Count numbers = elements(term.shape(2));
    if (numbers && *numbers != 1) {
      term.fault("in", "in_batch_softmax reads one number for how often an item comes, but " +
                           term.input_name(2) + " gives " + to_text(term.shape(2)));
      return;
    }
  }
  if (may_be_equal(term.shape(0).front(), term.shape(1).front())) return;
  term.fault("in", "in_batch_softmax: " + term.input_name(0) + " gives " + to_text(term.shape(0)) +
                       " and " + term.input_name(1) + " gives " + to_text(term.shape(1)) +
                       "; they are to be the same");
}

std::vector<TermRule> make_losses() {
  const ArgumentRule weight = number_or("weight", 1, 1e-9, 1e9);
  return {
      {.name = "softmax_cross_entropy",
       .arguments = {weight, number_or("label_smoothing", 0, 0, 0.999),
                     choice_or("per", "example", {"example", "token"})},
       .check = softmax_cross_entropy},
      {.name = "sigmoid_cross_entropy",
       .arguments = {weight, number_or("label_smoothing", 0, 0, 0.999)},
       .check = sigmoid_cross_entropy},
      {.name = "squared_error", .arguments = {weight}, .check = of_numbers},
      {.name = "huber",
       .arguments = {weight, number_or("delta", 1, 1e-9, 1e9)},
       .check = of_numbers},
      {.name = "ctc",
       .arguments = {weight, integer_or("blank", 0, 0, size_max),
                     choice_or("per", "example", {"example", "label"}),
                     choice_or("impossible", "fail", {"fail", "skip"})},
       .check = ctc},
      {.name = "in_batch_softmax",
       .inputs = 2,
       .more_inputs = 1,
       .arguments = {weight, number_or("temperature", 1, 1e-6, 1e6)},
       .check = in_batch_softmax},
  };
}

}  // namespace

std::span<const TermRule> losses() {
  static const std::vector<TermRule> rules = make_losses();
  return rules;
}

const TermRule* find_loss(std::string_view name) {
  for (const TermRule& rule : losses()) {
    if (rule.name == name) return &rule;
  }
  return nullptr;
}

}  // namespace trainyard::model
