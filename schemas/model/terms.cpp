#include "schemas/model/terms.h"

#include <algorithm>
#include <utility>

#include "schemas/base/json_pointer.h"
#include "schemas/model/given.h"
#include "schemas/model/sentence.h"
#include "schemas/model/term_scribe.h"

namespace trainyard::model {
namespace {

std::vector<std::string_view> names_of(std::span<const TermRule> rules) {
  std::vector<std::string_view> names;
  for (const TermRule& rule : rules) names.push_back(rule.name);
  return names;
}

bool may_read(const TermRule& rule, std::size_t inputs) {
  return inputs >= rule.inputs && inputs <= rule.inputs + rule.more_inputs;
}

// "2 or 3 layers"
std::string layers_of(const TermRule& rule) {
  std::string text = std::to_string(rule.inputs);
  if (rule.more_inputs > 0) text += " or " + std::to_string(rule.inputs + rule.more_inputs);
  return text + (rule.inputs + rule.more_inputs == 1 ? " layer" : " layers");
}

bool has_fields(const Term& term) {
  return !term.in.empty() || !term.target.empty() || !term.arguments.empty();
}

}  // namespace

Terms::Terms(const Model& model, const Facts& facts, const Setting& setting,
             const std::vector<std::size_t>& positions, FaultList& faults)
    : model_(model), facts_(facts), setting_(setting), positions_(positions), faults_(faults) {
  for (const Definition& one : model.define) definitions_.emplace(one.name, one.value);
}

bool Terms::check(const Expansion& expansion, Analysis& analysis) {
  check_loss_list(expansion, analysis);
  std::vector<std::size_t> standard;
  if (!analysis.losses.empty()) standard = analysis.losses.front().in;
  const std::string list = child_pointer(setting_.pointer, "metrics");
  if (model_.metrics.size() > terms_max) {
    faults_.add(list, "may be " + std::to_string(terms_max) + " at most, got " +
                          std::to_string(model_.metrics.size()));
  }
  for (std::size_t i = 0; i < std::min(model_.metrics.size(), terms_max); ++i) {
    const Term& term = model_.metrics[i];
    const Item item{term, find_metric(term.op), {.pointer = item_pointer(list, i)}};
    if (item.rule == nullptr) {
      faults_.add(item.place, has_fields(term) ? "/op" : "",
                  "there is no metric " + quoted(term.op) + meant(term.op, names_of(metrics())) +
                      "; there are " + listed(names_of(metrics())));
      continue;
    }
    // Of what the loss reads the first ones: how often an item comes is no tower.
    std::vector<std::size_t> read = standard;
    if (read.size() > item.rule->inputs && item.rule->inputs > 1) read.resize(item.rule->inputs);
    check_one(item, read, expansion, analysis.metrics, analysis);
  }
  return knows_inputs_;
}

void Terms::check_loss_list(const Expansion& expansion, Analysis& analysis) {
  const std::string list = child_pointer(setting_.pointer, "loss");
  if (model_.losses.empty()) {
    faults_.add(model_.loss_is_list ? list : setting_.pointer,
                "needs a \"loss\": one of " + listed(names_of(losses())));
    knows_inputs_ = false;
  }
  if (model_.losses.size() > terms_max) {
    faults_.add(list, "may be " + std::to_string(terms_max) + " at most, got " +
                          std::to_string(model_.losses.size()));
  }
  std::vector<std::size_t> last;
  if (expansion.last != no_layer && positions_[expansion.last] != no_layer) {
    last.push_back(expansion.last);
  }
  for (std::size_t i = 0; i < std::min(model_.losses.size(), terms_max); ++i) {
    const Term& term = model_.losses[i];
    const Item item{
        term, find_loss(term.op), {.pointer = model_.loss_is_list ? item_pointer(list, i) : list}};
    if (item.rule == nullptr) {
      faults_.add(item.place, has_fields(term) ? "/op" : "",
                  "there is no loss " + quoted(term.op) + meant(term.op, names_of(losses())) +
                      "; there are " + listed(names_of(losses())));
      analysis.losses.push_back({.op = term.op, .in = {}, .target = term.target});
      knows_inputs_ = false;
      continue;
    }
    std::vector<std::size_t> standard;
    for (const std::size_t flat : last) standard.push_back(positions_[flat]);
    check_one(item, standard, expansion, analysis.losses, analysis);
  }
}

std::vector<std::size_t> Terms::read_inputs(const Item& item,
                                            const std::vector<std::size_t>& standard,
                                            const Expansion& expansion) {
  if (item.term.in.empty()) {
    if (may_read(*item.rule, standard.size())) return standard;
    if (standard.empty()) {  // the last layer is at fault
      knows_inputs_ = false;
      return {};
    }
    faults_.add(item.place, "",
                item.term.op + " reads " + layers_of(*item.rule) + "; say which with \"in\"");
    knows_inputs_ = false;
    return {};
  }
  if (!may_read(*item.rule, item.term.in.size())) {
    faults_.add(item.place, "/in",
                item.term.op + " reads " + layers_of(*item.rule) + ", \"in\" names " +
                    std::to_string(item.term.in.size()));
    knows_inputs_ = false;
    return {};
  }
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < item.term.in.size(); ++i) {
    const std::string& name = item.term.in[i];
    const bool is_last = name == "-";
    const std::size_t flat = is_last ? expansion.last : find_layer(expansion, name);
    const bool is_there = is_last || expansion.by_name.contains(name);
    if (flat != no_layer && positions_[flat] != no_layer) {
      inputs.push_back(positions_[flat]);
      continue;
    }
    knows_inputs_ = false;
    if (is_there) continue;  // and at fault itself
    std::vector<std::string_view> names;
    for (const Layer& layer : model_.layers) names.emplace_back(layer.name);
    std::string below = "/in";
    if (item.term.in.size() > 1) below = item_pointer(below, i);
    faults_.add(item.place, below, "no layer has the name " + quoted(name) + meant(name, names));
  }
  if (inputs.size() != item.term.in.size()) return {};
  return inputs;
}

void Terms::refuse_others(const Item& item) {
  const std::vector<std::string_view> known = model::names_of(item.rule->arguments);
  for (const Argument& argument : item.term.arguments) {
    if (std::ranges::find(known, argument.name) != known.end()) continue;
    faults_.add(item.place, child_pointer("", argument.name),
                item.term.op + " has no " + quoted(argument.name) +
                    (known.empty() ? std::string() : " (it has: " + listed(known) + ")") +
                    meant(argument.name, known));
  }
}

Arguments Terms::read_arguments(const Item& item, std::vector<std::string>& broken) {
  const Bindings bindings(definitions_);
  Arguments read;
  for (const Argument& argument : item.term.arguments) {
    const std::string below = child_pointer("", argument.name);
    std::optional<Value> value;
    if (is_small(argument.value)) {
      value = bindings.replace(argument.value, item.place, below, faults_);
    } else {
      faults_.add(item.place, below, "is longer than any argument may be");
    }
    if (value) {
      read.push_back({argument.name, *std::move(value)});
    } else {
      broken.push_back(argument.name);
    }
  }
  return read;
}

void Terms::check_target(const Item& item) {
  const std::string& target = item.term.target;
  if (target.empty() || !facts_.fields_are_known || target == facts_.label) return;
  if (std::ranges::find(facts_.fields, target, &Field::name) != facts_.fields.end()) return;
  std::vector<std::string_view> names{facts_.label};
  for (const Field& field : facts_.fields) names.emplace_back(field.name);
  faults_.add(item.place, "/target",
              dataset_words(facts_.dataset) + " has no field " + quoted(target) +
                  " (it has: " + listed(names) + ")" + meant(target, names));
}

void Terms::check_one(const Item& written, const std::vector<std::size_t>& standard,
                      const Expansion& expansion, std::vector<AnalysedTerm>& sum,
                      Analysis& analysis) {
  Item item = written;
  item.place.expansion = --expansions_;
  const Term& term = item.term;
  if (term.arguments.size() > arguments_max) {
    faults_.add(item.place, "", "may have " + std::to_string(arguments_max) + " arguments at most");
    return;
  }
  refuse_others(item);
  check_target(item);
  std::vector<std::string> broken;
  const Arguments arguments = read_arguments(item, broken);
  Given given(item.rule->arguments, {.op = term.op,
                                     .written = arguments,
                                     .broken = broken,
                                     .place = item.place,
                                     .facts = facts_,
                                     .faults = faults_});
  AnalysedTerm analysed{.op = term.op,
                        .in = read_inputs(item, standard, expansion),
                        .target = term.target.empty() ? facts_.label : term.target,
                        .arguments = given.values(),
                        .pointer = item.place.pointer};
  const bool has_all = may_read(*item.rule, analysed.in.size());
  sum.push_back(analysed);
  if (!has_all) return;
  for (const std::size_t input : analysed.in) {
    if (!analysis.layers[input].shape) return;
    if (analysis.layers[input].kind == ElementKind::number) continue;
    faults_.add(
        item.place, term.in.empty() ? "" : "/in",
        term.op + " reads numbers, but " + quoted(analysis.layers[input].name) + " gives none");
    return;
  }
  TermScribe scribe({.facts = facts_,
                     .analysis = analysis,
                     .term = analysed,
                     .written = term,
                     .place = item.place,
                     .given = given,
                     .faults = faults_});
  item.rule->check(scribe);
}

}  // namespace trainyard::model
