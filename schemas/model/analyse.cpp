// Layer after layer: the arguments by the op's rule, then what the rule infers.
#include <algorithm>
#include <utility>

#include "schemas/base/json_pointer.h"
#include "schemas/model/analyser.h"
#include "schemas/model/layer_scribe.h"
#include "schemas/model/sentence.h"
#include "schemas/model/terms.h"
#include "schemas/model/totals.h"
#include "schemas/model/zoo/zoo.h"

namespace trainyard::model {
namespace {

// What stands for an input that is at fault.
const AnalysedLayer& nothing() {
  static const AnalysedLayer layer{.name = "", .op = ""};
  return layer;
}

void check_init(const Model& model, const std::string& pointer, FaultList& faults) {
  if (!model.init) return;
  std::string below;
  const Place place{.pointer = child_pointer(pointer, "init"), .from = model.init->from};
  if (!is_small(*model.init)) {
    faults.add(place, "", "is longer than any initialiser");
  } else if (auto message = fault_of_init(*model.init, below)) {
    faults.add(place, below, *std::move(message));
  }
}

Analysis analyse_noting(const Model& model, const Facts& facts, const Setting& setting,
                        FaultList& faults) {
  return Analyser(model, facts, setting, faults).run();
}

}  // namespace

const AnalysedLayer& Analyser::layer(std::size_t position) const {
  return position == no_layer ? nothing() : result_.layers[position];
}

const Variable& Analyser::variable(std::size_t position) const {
  return result_.variables[position];
}

std::size_t Analyser::add(AnalysedLayer layer, ValueNote note) {
  for (const std::size_t input : layer.in) notes_[input].is_read = true;
  result_.layers.push_back(std::move(layer));
  notes_.push_back(std::move(note));
  return result_.layers.size() - 1;
}

std::size_t Analyser::add_variable(Variable variable) {
  result_.variables.push_back(std::move(variable));
  return result_.variables.size() - 1;
}

void Analyser::analyse_input(const FlatLayer& flat) {
  AnalysedLayer layer{.name = flat.name, .op = "input", .pointer = flat.place.pointer};
  ValueNote note{.place = flat.place};
  if (flat.field != nullptr) {
    layer.shape = flat.field->shape;
    layer.kind = flat.field->kind;
    note.ids = flat.field->ids;
    layer.arguments.push_back({"field", flat.field->name});
  }
  positions_.push_back(add(std::move(layer), std::move(note)));
}

std::size_t Analyser::analyse_layer(const FlatLayer& flat, std::vector<std::size_t> in) {
  const OpRule* rule = find_op(flat.op);
  const Reading reading{.op = flat.op,
                        .written = flat.arguments,
                        .broken = flat.broken,
                        .place = flat.place,
                        .facts = facts_,
                        .faults = faults_};
  if (rule == nullptr || flat.has_wrong_inputs) {
    if (rule != nullptr) Given(rule->arguments, reading);  // notes what else is wrong
    std::erase(in, no_layer);                              // what it reads is read all the same
    return add({.name = flat.name,
                .op = flat.op,
                .in = std::move(in),
                .parameters = {},
                .state = {},
                .forward_flops = {},
                .backward_flops = {},
                .pointer = flat.place.pointer},
               {.is_at_fault = true, .extra_bytes = {}, .place = flat.place});
  }
  LayerScribe scribe(*this, *rule, flat, in, Given(rule->arguments, reading));
  for (std::size_t i = 0; i < in.size(); ++i) {
    const AnalysedLayer& input = layer(in[i]);
    const bool is_right = input.kind == ElementKind::number ||
                          (input.kind == ElementKind::id && rule->reads_ids) ||
                          (input.kind == ElementKind::sparse && rule->reads_sparse);
    if (is_right) continue;
    scribe.fault_below(flat.is_residual_sum ? "/residual" : "",
                       flat.op + " reads numbers, but " + quoted(input.name) + " gives " +
                           std::string(noun_of(input.kind)) +
                           "; an embedding makes numbers of them");
    return scribe.finish();
  }
  rule->infer(scribe);
  return scribe.finish();
}

void Analyser::check_all_is_read(const Expansion& expansion) {
  for (const FlatLayer& flat : expansion.layers) {
    // Who was to read it, nobody knows then.
    if (std::ranges::find(flat.in, no_layer) != flat.in.end()) return;
  }
  for (const auto* terms : {&result_.losses, &result_.metrics}) {
    for (const AnalysedTerm& term : *terms) {
      for (const std::size_t input : term.in) notes_[input].is_read = true;
    }
  }
  for (std::size_t i = 0; i < result_.layers.size(); ++i) {
    if (notes_[i].is_read) continue;
    const bool is_input = result_.layers[i].op == "input";
    if (is_input && model_.inputs.empty()) continue;  // a field that nobody asked for
    faults_.add(notes_[i].place, "",
                "nothing reads " + quoted(result_.layers[i].name) +
                    ": no layer below it, and not the loss");
  }
}

Analysis Analyser::run() {
  check_init(model_, setting_.pointer, faults_);
  const Expansion expansion = expand(model_, facts_, setting_.pointer, faults_);
  for (std::size_t i = 0; i < expansion.layers.size(); ++i) {
    const FlatLayer& flat = expansion.layers[i];
    if (i < expansion.inputs) {
      analyse_input(flat);
      continue;
    }
    std::vector<std::size_t> in;
    for (const std::size_t input : flat.in) {
      in.push_back(input == no_layer ? no_layer : positions_[input]);
    }
    positions_.push_back(analyse_layer(flat, std::move(in)));
  }
  if (expansion.is_whole) {
    Terms terms(model_, facts_, setting_, positions_, faults_);
    if (terms.check(expansion, result_)) check_all_is_read(expansion);
    sum_costs(result_, notes_);
    lay_out_arena(result_);
    check_memory(result_, notes_, setting_, faults_);
  }
  return std::move(result_);
}

Analysis analyse(const Model& model, const Facts& facts, const Setting& setting) {
  FaultList faults;
  Analysis analysis = analyse_noting(model, facts, setting, faults);
  for (const FaultList::Noted& noted : faults.noted()) analysis.faults.push_back(noted.fault);
  return analysis;
}

Analysis analyse(const Written& written, const Facts& facts, const Setting& setting) {
  if (const auto* model = std::get_if<Model>(&written)) return analyse(*model, facts, setting);
  std::vector<Fault> wrong;
  const Model model = make_zoo_model(std::get<ZooCall>(written), facts, setting.pointer, wrong);
  if (!wrong.empty()) {
    Analysis analysis;
    analysis.faults = std::move(wrong);
    return analysis;
  }
  FaultList faults;
  Analysis analysis = analyse_noting(model, facts, setting, faults);
  for (const FaultList::Noted& noted : faults.noted()) {
    Fault fault = noted.fault;
    if (is_within(fault.pointer, setting.pointer)) {
      // Its text is not what the user wrote; the argument is, and says where to look.
      fault.message +=
          " (in what it stands for, at " + fault.pointer.substr(setting.pointer.size()) + ")";
      fault.pointer = setting.pointer;
      if (!noted.from.empty()) fault.pointer = child_pointer(fault.pointer, noted.from);
    }
    analysis.faults.push_back(std::move(fault));
  }
  return analysis;
}

}  // namespace trainyard::model
