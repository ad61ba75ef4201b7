#include "schemas/model/layer_scribe.h"

#include <algorithm>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/model/analyser.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

Fans known_fans(Fans fans) { return {std::max(fans.in, 0.0), std::max(fans.out, 0.0)}; }

}  // namespace

std::string_view noun_of(ElementKind kind) {
  switch (kind) {
    case ElementKind::number: return "numbers";
    case ElementKind::id: return "ids";
    case ElementKind::sparse: return "sparse rows";
  }
  return "";
}

LayerScribe::LayerScribe(Analyser& analyser, const OpRule& rule, const FlatLayer& flat,
                         std::vector<std::size_t> in, Given given)
    : analyser_(analyser),
      rule_(rule),
      flat_(flat),
      in_(std::move(in)),
      given_(std::move(given)),
      layer_{.name = flat.name,
             .op = flat.op,
             .recompute_block = flat.recompute_block,
             .pointer = flat.place.pointer} {}

const MaybeShape& LayerScribe::shape(std::size_t input) const {
  return analyser_.layer(in_[input]).shape;
}

ElementKind LayerScribe::kind(std::size_t input) const { return analyser_.layer(in_[input]).kind; }

std::int64_t LayerScribe::ids(std::size_t input) const {
  return in_[input] == no_layer ? unknown_size : analyser_.note(in_[input]).ids;
}

std::string LayerScribe::input_name(std::size_t input) const {
  return quoted(analyser_.layer(in_[input]).name);
}

void LayerScribe::fault(std::string_view argument, std::string message) {
  std::string below;
  Place place = flat_.place;
  if (!argument.empty()) {
    const Value* written = find(flat_.arguments, argument.substr(0, argument.find('/')));
    if (written != nullptr && !written->from.empty()) place.from = written->from;
    // Where a default is what is wrong, there is nothing but the layer to point at.
    if (written != nullptr) below.append(1, '/').append(argument);
  }
  analyser_.faults().add(place, below, std::move(message));
}

void LayerScribe::fault_below(std::string_view pointer, std::string message) {
  analyser_.faults().add(flat_.place, pointer, std::move(message));
}

bool LayerScribe::starts_as_torch() const {
  const Value* init = init_of({.shape = {}, .fans = {}, .standard = ""});
  return init != nullptr && starts_biases(*init);
}

bool names_argument(const LayerScribe& layer, std::string_view name) {
  const FlatLayer& flat = layer.flat();
  return find(flat.arguments, name) != nullptr ||
         std::ranges::find(flat.broken, name) != flat.broken.end();
}

bool LayerScribe::has_rank(std::size_t input, std::size_t least, std::size_t most,
                           std::string_view form) {
  const MaybeShape& sizes = shape(input);
  if (!sizes) return false;
  if (sizes->size() >= least && sizes->size() <= most) return true;
  fault("", op() + " reads " + std::string(form) + ", but " + input_name(input) + " gives " +
                to_text(sizes));
  return false;
}

std::int64_t LayerScribe::last_size(std::size_t input) const {
  const MaybeShape& sizes = shape(input);
  return sizes && !sizes->empty() ? sizes->back() : unknown_size;
}

void LayerScribe::gives(MaybeShape shape, ElementKind kind) {
  layer_.shape = std::move(shape);
  layer_.kind = kind;
  if (layer_.shape && layer_.shape->size() > rank_max) {
    fault("", op() + " gives " + std::to_string(layer_.shape->size()) + " axes; a value may have " +
                  std::to_string(rank_max));
    layer_.shape.reset();
  }
  const Count count = elements(layer_.shape);
  if (!count || *count <= elements_max) return;
  fault("", op() + " gives " + by_text(*layer_.shape) + " numbers an example, more than " +
                with_commas(elements_max));
  layer_.shape.reset();
}

const Value* LayerScribe::init_of(const KernelWish& wish) const {
  if (const Value* own = given_.init(wish.argument)) return own;
  if (const Value* own = given_.init("init")) return own;
  const auto& all = analyser_.model().init;
  std::string below;
  if (all && !fault_of_init(*all, below)) return &*all;
  return nullptr;
}

void LayerScribe::adds_kernel(const KernelWish& wish) {
  const Value* init = init_of(wish);
  kernel_init_ = init == nullptr ? wish.standard : *init;
  adds_fixed(wish.suffix, wish.shape, start_of(*kernel_init_, known_fans(wish.fans)), wish.role);
}

void LayerScribe::adds_bias(std::string_view suffix, std::int64_t size, Fans kernel_fans) {
  const Value* own = given_.init("bias_init");
  Start start;
  if (own != nullptr) {
    start = start_of(*own, known_fans(kernel_fans));
  } else if (kernel_init_ && starts_biases(*kernel_init_)) {
    start = start_of(*kernel_init_, known_fans(kernel_fans));
  }
  adds_fixed(suffix, {size}, start, VariableRole::parameter);
}

void LayerScribe::adds_fixed(std::string_view suffix, Sizes shape, Start start, VariableRole role) {
  Variable variable{.name = layer_.name, .shape = std::move(shape), .role = role, .start = start};
  variable.name.append(1, '/').append(suffix);
  variable.is_frozen = flat_.is_frozen && role != VariableRole::state;
  if (role != VariableRole::row_table) {
    variable.elements = elements(variable.shape);
    if (variable.elements && *variable.elements > elements_max) {
      fault("", op() + " has a " + std::string(suffix) + " of " + by_text(variable.shape) +
                    " numbers, more than " + with_commas(elements_max));
      variable.elements.reset();
    }
    Count& sum = role == VariableRole::state ? layer_.state : layer_.parameters;
    sum = plus(sum, variable.elements);
  }
  layer_.variables.push_back(analyser_.add_variable(std::move(variable)));
}

bool LayerScribe::ties_kernel(const Sizes& shape) {
  if (!flat_.tied_to) return find(flat_.arguments, "tie") != nullptr;
  const std::size_t other = analyser_.position_of(*flat_.tied_to);
  if (other == no_layer) return true;
  const AnalysedLayer& layer = analyser_.layer(other);
  const auto kernel = std::ranges::find_if(layer.variables, [&](std::size_t position) {
    return analyser_.variable(position).name == layer.name + "/kernel";
  });
  const bool is_table = layer.op == "embedding";
  if (kernel == layer.variables.end() || !(is_table || layer.op == "dense")) {
    if (analyser_.note(other).is_at_fault || !layer.shape) return true;
    fault("tie", quoted(layer.name) + " has no kernel to be tied to; an embedding has one, and " +
                     "a dense layer");
    return true;
  }
  const Variable& variable = analyser_.variable(*kernel);
  if (variable.role == VariableRole::row_table) {
    fault("tie",
          "the rows of " + quoted(layer.name) + " lie on the ps; nothing can be tied to them");
    return true;
  }
  Sizes wanted = shape;
  if (is_table) std::swap(wanted[0], wanted[1]);
  if (!may_be_equal(MaybeShape(wanted), MaybeShape(variable.shape))) {
    fault("tie", quoted(variable.name) + " is " + to_text(variable.shape) + ", and " +
                     to_text(wanted) + " is needed");
    return true;
  }
  layer_.tied_to = *kernel;
  layer_.is_tied_transposed = is_table;
  return true;
}

void LayerScribe::needs_values_in_micro_batch(Count values) {
  const Setting& setting = analyser_.setting();
  const Count all = times(values, setting.micro_batch);
  if (!all || *all >= 2) return;
  // The first says it for all of them.
  const Place place{.pointer = setting.micro_batch_pointer, .expansion = flat_.place.expansion};
  analyser_.faults().add(place, "",
                         op() + ' ' + quoted(layer_.name) + " sees " + std::to_string(*all) +
                             " value for each channel of a micro-batch of " +
                             std::to_string(setting.micro_batch) + "; it needs 2 or more");
}

std::size_t LayerScribe::spell(std::string_view op, std::string_view suffix,
                               std::vector<std::size_t> in, Arguments arguments) {
  FlatLayer part = flat_;
  part.name.append(1, '/').append(suffix);
  part.op = op;
  part.arguments = std::move(arguments);
  part.broken.clear();
  part.tied_to.reset();
  stands_for_ = analyser_.analyse_layer(part, std::move(in));
  return *stands_for_;
}

std::size_t LayerScribe::finish() {
  if (stands_for_) return *stands_for_;
  if (rule_.layers > 1) {  // it could not be spelled out: its sizes are not known
    layer_.parameters.reset();
    costs_.are_unknown();
  }
  const auto trains = [&](std::size_t position) {
    return !analyser_.variable(position).is_frozen &&
           analyser_.variable(position).role != VariableRole::state;
  };
  const bool has_kernel =
      std::ranges::any_of(layer_.variables, trains) || (layer_.tied_to && trains(*layer_.tied_to));
  WantedGradients wanted{.kernels = has_kernel ? 1 : 0};
  for (const std::size_t input : in_) {
    if (input != no_layer && analyser_.note(input).has_gradient) ++wanted.inputs;
  }
  ValueNote note{.has_gradient = wanted.inputs + wanted.kernels > 0, .place = flat_.place};
  layer_.forward_flops = times(2, costs_.forward());
  layer_.backward_flops = note.has_gradient ? times(2, costs_.backward(wanted)) : Count(0);
  if (layer_.kind == ElementKind::id && !in_.empty()) note.ids = ids(0);
  if (costs_.shares_bytes() && in_.front() != no_layer) note.view_of = in_.front();
  if (note.has_gradient) note.extra_bytes = costs_.bytes();
  for (const auto& [what, input] : costs_.kept()) {
    if (!note.has_gradient) break;
    if (what == Kept::output) {
      note.is_kept = true;
    } else if (in_[input] != no_layer && (what == Kept::input || has_kernel)) {
      analyser_.note(in_[input]).is_kept = true;
    }
  }
  for (const std::size_t input : in_) {
    if (input != no_layer) layer_.in.push_back(input);
  }
  layer_.arguments = given_.values();
  return analyser_.add(std::move(layer_), std::move(note));
}

}  // namespace trainyard::model
