// A layer that is an op: its inputs, its arguments, the layer that it is tied to.
#include <algorithm>
#include <utility>

#include "schemas/base/json_pointer.h"
#include "schemas/model/expander.h"
#include "schemas/model/given.h"
#include "schemas/model/op_rule.h"
#include "schemas/model/sentence.h"
#include "schemas/model/term_rule.h"

namespace trainyard::model {
namespace {

constexpr std::size_t path_letters_max = 2048;
// Every layer may have them.
constexpr std::string_view freeze = "freeze";
constexpr std::string_view recompute = "recompute";

std::string counted(std::size_t count, std::string_view noun) {
  std::string text = std::to_string(count);
  text += ' ';
  text += noun;
  if (count != 1) text += 's';
  return text;
}

std::string unknown_op_text(const std::string& op) {
  std::string text = "there is no op ";
  text += quoted(op);
  if (find_loss(op) != nullptr) return text + " among layers: it is a loss";
  if (find_metric(op) != nullptr) return text + " among layers: it is a metric";
  return text + meant(op, op_names());
}

}  // namespace

std::size_t Expander::expand(const Item& item, const OpLayer& layer) {
  const OpRule* rule = find_op(layer.op);
  if (!has_room(item, "", rule == nullptr ? 1 : static_cast<std::int64_t>(rule->layers))) {
    return no_layer;
  }
  FlatLayer flat{.name = item.path, .op = layer.op, .place = item.place};
  if (rule == nullptr) {
    const bool has_fields =
        !item.layer.name.empty() || !item.layer.in.empty() || !item.layer.arguments.empty();
    faults_.add(item.place, has_fields ? "/op" : "", unknown_op_text(layer.op));
    flat.op.clear();
    flat.in = read_inputs(item);
    return emit(std::move(flat), 1);
  }
  const std::vector<std::string_view> known = names_of(rule->arguments);
  refuse_others(item, known, layer.op);
  flat.in = read_inputs(item);
  if (!check_input_count(item, flat.in.size(), rule->inputs_least, rule->inputs_most)) {
    flat.has_wrong_inputs = true;
  }
  read_arguments(item, known, flat);
  read_tie(item, flat);
  flat.is_frozen = item.around.is_frozen || read_flag(item, freeze);
  flat.recompute_block = item.around.recompute_block;
  if (read_flag(item, recompute) && !flat.recompute_block) {
    flat.recompute_block = recompute_blocks_++;
  }
  return emit(std::move(flat), rule->layers);
}

std::optional<std::size_t> Expander::look_up(const std::string& prefix,
                                             const std::string& name) const {
  if (name.size() > path_letters_max) return std::nullopt;
  std::string path = prefix;
  while (true) {
    const auto found = result_->by_name.find(path + name);
    if (found != result_->by_name.end()) return found->second;
    if (path.empty()) return std::nullopt;
    path.pop_back();  // the '/'
    const std::size_t slash = path.rfind('/');
    path.erase(slash == std::string::npos ? 0 : slash + 1);
  }
}

std::size_t Expander::read_input(const Item& item, std::size_t position) {
  const Layer& layer = item.layer;
  const std::string& name = layer.in[position];
  std::string below = "/in";
  if (layer.in.size() > 1) below = item_pointer(below, position);
  if (name == "-") {
    if (item.above) return *item.above;
    faults_.add(item.place, below, "there is no layer above");
    return no_layer;
  }
  if (const auto found = look_up(item.around.prefix, name)) return *found;
  if (!faults_.hears(item.place, below)) return no_layer;
  std::vector<std::string_view> names;
  for (const Layer& other : model_.layers) {
    if (is_name(other.name)) names.emplace_back(other.name);
  }
  if (std::ranges::find(names, name) != names.end()) {
    faults_.add(item.place, below,
                quoted(name) + " stands further down; a layer reads those above it");
    return no_layer;
  }
  for (const Input& input : model_.inputs) names.emplace_back(input.name);
  faults_.add(item.place, below,
              "no input and no layer above has the name " + quoted(name) + meant(name, names));
  return no_layer;
}

std::vector<std::size_t> Expander::read_inputs(const Item& item) {
  const std::vector<std::string>& in = item.layer.in;
  if (in.empty()) {
    if (item.above) return {*item.above};
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < result_->inputs; ++i) names.emplace_back(result_->layers[i].name);
    faults_.add(item.place, "",
                names.empty() ? std::string("there is nothing to read: the data set has no fields")
                              : "needs \"in\", as there are several inputs: " + listed(names));
    return {no_layer};
  }
  if (in.size() > inputs_of_layer_max) {
    faults_.add(item.place, "/in",
                "may name " + std::to_string(inputs_of_layer_max) + " layers at most, got " +
                    std::to_string(in.size()));
    return {no_layer};
  }
  std::vector<std::size_t> inputs;
  for (std::size_t i = 0; i < in.size(); ++i) inputs.push_back(read_input(item, i));
  return inputs;
}

bool Expander::check_input_count(const Item& item, std::size_t count, std::size_t least,
                                 std::size_t most) {
  if (count >= least && count <= most) return true;
  if (item.layer.in.size() > inputs_of_layer_max) return false;  // noted
  const auto* op = std::get_if<OpLayer>(&item.layer.what);
  std::string text = op == nullptr ? std::string("this") : op->op;
  text += " reads ";
  text += least == most ? counted(least, "input") : counted(least, "input") + " or more";
  text += ", \"in\" names ";
  text += std::to_string(item.layer.in.empty() ? 0 : count);
  faults_.add(item.place, item.layer.in.empty() ? "" : "/in", std::move(text));
  return false;
}

std::optional<std::size_t> Expander::read_one_input(const Item& item) {
  if (item.layer.in.empty()) return item.above;
  const std::vector<std::size_t> inputs = read_inputs(item);
  if (!check_input_count(item, inputs.size(), 1, 1)) return no_layer;
  return inputs.front();
}

void Expander::read_arguments(const Item& item, const std::vector<std::string_view>& known,
                              FlatLayer& flat) {
  if (item.layer.arguments.size() > arguments_max) return;  // noted
  for (const Argument& argument : item.layer.arguments) {
    if (std::ranges::find(known, argument.name) == known.end()) continue;
    const std::string below = child_pointer("", argument.name);
    std::optional<Value> value;
    if (is_small(argument.value)) {
      value = item.around.bindings.replace(argument.value, item.place, below, faults_);
    } else {
      faults_.add(item.place, below, "is longer than any argument may be");
    }
    if (value) {
      flat.arguments.push_back({argument.name, *std::move(value)});
    } else {
      flat.broken.push_back(argument.name);
    }
  }
}

void Expander::read_tie(const Item& item, FlatLayer& flat) {
  const Value* tie = find(flat.arguments, "tie");
  if (tie == nullptr || tie->text() == nullptr || tie->text()->empty()) return;
  std::string name = *tie->text();
  std::optional<std::size_t> found = look_up(item.around.prefix, name);
  if (!found && name.ends_with("/kernel")) {
    name.erase(name.rfind('/'));
    found = look_up(item.around.prefix, name);
  }
  if (found && *found != no_layer) {
    flat.tied_to = *found;
    return;
  }
  flat.broken.emplace_back("tie");
  if (found) return;  // it is at fault itself
  faults_.add(item.place, "/tie", "no layer above has the name " + quoted(*tie->text()));
}

bool Expander::read_flag(const Item& item, std::string_view name) {
  const Value* written = find(item.layer.arguments, name);
  if (written == nullptr || item.layer.arguments.size() > arguments_max) return false;
  const std::string below = child_pointer("", name);
  const auto value = item.around.bindings.replace(*written, item.place, below, faults_);
  if (!value) return false;
  if (const bool* flag = value->flag()) return *flag;
  faults_.add(item.place, below, "must be true or false, got " + describe(*value));
  return false;
}

void Expander::refuse_others(const Item& item, const std::vector<std::string_view>& known,
                             const std::string& what) {
  if (!item.is_first) return;
  const Arguments& arguments = item.layer.arguments;
  if (arguments.size() > arguments_max) {
    faults_.add(item.place, "",
                "may have " + std::to_string(arguments_max) + " arguments at most, got " +
                    with_commas(static_cast<std::int64_t>(arguments.size())));
    return;
  }
  for (const Argument& argument : arguments) {
    if (argument.name == freeze || argument.name == recompute) continue;
    if (std::ranges::find(known, argument.name) != known.end()) continue;
    faults_.add(item.place, child_pointer("", argument.name),
                what + " has no " + quoted(argument.name) +
                    (known.empty() ? std::string() : " (it has: " + listed(known) + ")") +
                    meant(argument.name, known));
  }
}

}  // namespace trainyard::model
