// Printing: the model as it is written to JSON, and that to text which people edit.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <variant>

#include "schemas/types/names.h"
#include "schemas/wire/model_json.h"

namespace trainyard::model {
namespace {

using nlohmann::ordered_json;

// 64 as 64, not as 64.0, as far as doubles know each integer.
ordered_json number_to_json(double number) {
  constexpr double exact_max = 9007199254740992.0;  // 2^53
  if (std::trunc(number) == number && std::abs(number) <= exact_max) {
    return static_cast<std::int64_t>(number);
  }
  return number;
}

ordered_json value_to_json(const Value& value);

// Those that say most come first, the others stay in their order.
void add_arguments(ordered_json& object, const Arguments& arguments) {
  constexpr std::array<std::string_view, 9> leading{"name", "filters", "units",  "size",   "rate",
                                                    "kind", "kernel",  "stride", "padding"};
  for (const std::string_view name : leading) {
    if (const Value* value = find(arguments, name)) {
      object[std::string(name)] = value_to_json(*value);
    }
  }
  for (const auto& [name, value] : arguments) {
    if (std::ranges::find(leading, name) == leading.end()) object[name] = value_to_json(value);
  }
}

ordered_json value_to_json(const Value& value) {
  if (const double* number = value.number()) return number_to_json(*number);
  if (const bool* flag = value.flag()) return *flag;
  if (const std::string* text = value.text()) return *text;
  if (const Value::List* list = value.list()) {
    ordered_json array = ordered_json::array();
    for (const Value& item : *list) array.push_back(value_to_json(item));
    return array;
  }
  return arguments_to_json(*value.object());
}

void add_in(ordered_json& object, const std::vector<std::string>& in) {
  if (in.size() == 1) object["in"] = in.front();
  if (in.size() > 1) object["in"] = in;
}

ordered_json layers_to_json(const Layers& layers);

// Of a layer's kind: the fields before its arguments, and those behind them.
void add_head(ordered_json& object, const Layer& layer) {
  if (const auto* op = std::get_if<OpLayer>(&layer.what)) object["op"] = op->op;
  if (const auto* use = std::get_if<UseLayer>(&layer.what)) object["use"] = use->block;
  if (const auto* repeat = std::get_if<RepeatLayer>(&layer.what)) {
    object["repeat"] = value_to_json(repeat->times);
  }
}

void add_lists(ordered_json& object, const Layer& layer) {
  if (const auto* repeat = std::get_if<RepeatLayer>(&layer.what)) {
    object["layers"] = layers_to_json(repeat->layers);
  }
  if (const auto* residual = std::get_if<ResidualLayer>(&layer.what)) {
    object["residual"] = layers_to_json(residual->layers);
    if (!residual->shortcut.empty()) object["shortcut"] = layers_to_json(residual->shortcut);
  }
}

ordered_json layer_to_json(const Layer& layer) {
  const auto* op = std::get_if<OpLayer>(&layer.what);
  if (op != nullptr && layer.name.empty() && layer.in.empty() && layer.arguments.empty()) {
    return op->op;
  }
  ordered_json object = ordered_json::object();
  add_head(object, layer);
  if (!layer.name.empty()) object["name"] = layer.name;
  add_in(object, layer.in);
  add_arguments(object, layer.arguments);
  add_lists(object, layer);
  return object;
}

ordered_json layers_to_json(const Layers& layers) {
  ordered_json array = ordered_json::array();
  for (const Layer& layer : layers) array.push_back(layer_to_json(layer));
  return array;
}

ordered_json term_to_json(const Term& term) {
  if (term.in.empty() && term.target.empty() && term.arguments.empty()) return term.op;
  ordered_json object = {{"op", term.op}};
  add_in(object, term.in);
  if (!term.target.empty()) object["target"] = term.target;
  add_arguments(object, term.arguments);
  return object;
}

ordered_json terms_to_json(const std::vector<Term>& terms) {
  ordered_json array = ordered_json::array();
  for (const Term& term : terms) array.push_back(term_to_json(term));
  return array;
}

ordered_json block_to_json(const Block& block) {
  ordered_json object = ordered_json::object();
  if (!block.parameters.empty()) object["parameters"] = block.parameters;
  object["layers"] = layers_to_json(block.layers);
  return object;
}

ordered_json layers_model_to_json(const Model& model) {
  ordered_json object = ordered_json::object();
  for (const auto& [name, field] : model.inputs) object["inputs"][name] = field;
  for (const auto& [name, value] : model.define) object["define"][name] = number_to_json(value);
  if (model.init) object["init"] = value_to_json(*model.init);
  for (const Block& block : model.blocks) object["blocks"][block.name] = block_to_json(block);
  object["layers"] = layers_to_json(model.layers);
  if (model.losses.size() == 1 && !model.loss_is_list) {
    object["loss"] = term_to_json(model.losses.front());
  } else {
    object["loss"] = terms_to_json(model.losses);
  }
  if (!model.metrics.empty()) object["metrics"] = terms_to_json(model.metrics);
  return object;
}

// Text, for people.

constexpr std::size_t columns_max = 100;

std::string text_of(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

// In one line, a blank behind each comma and colon; cut where it is longer than `most`.
void append_line(std::string& line, const ordered_json& value, std::size_t most) {
  if (!value.is_structured()) {
    line += text_of(value);
    return;
  }
  line += value.is_object() ? '{' : '[';
  bool is_first = true;
  for (const auto& [key, item] : value.items()) {
    if (line.size() > most) return;
    if (!std::exchange(is_first, false)) line += ", ";
    if (value.is_object()) line.append(text_of(key)).append(": ");
    append_line(line, item, most);
  }
  line += value.is_object() ? '}' : ']';
}

// `ahead`: columns of the line that are taken already.
void append_text(std::string& text, const ordered_json& value, std::size_t indent,
                 std::size_t ahead) {
  const std::size_t room = columns_max - 1 - std::min(columns_max - 1, ahead);  // 1 for a comma
  std::string line;
  append_line(line, value, room);
  if (!value.is_structured() || value.empty() || line.size() <= room) {
    text += line;
    return;
  }
  text += value.is_object() ? '{' : '[';
  bool is_first = true;
  for (const auto& [key, item] : value.items()) {
    text += std::exchange(is_first, false) ? "\n" : ",\n";
    text.append(indent + 2, ' ');
    const std::string label = value.is_object() ? text_of(key) + ": " : std::string();
    text += label;
    append_text(text, item, indent + 2, indent + 2 + label.size());
  }
  text += '\n';
  text.append(indent, ' ');
  text += value.is_object() ? '}' : ']';
}

// The zoo's table.

constexpr NameTable<ArgumentKind, 7> argument_kind_names{{{ArgumentKind::integer, "integer"},
                                                          {ArgumentKind::number, "number"},
                                                          {ArgumentKind::flag, "boolean"},
                                                          {ArgumentKind::choice, "choice"},
                                                          {ArgumentKind::integers, "integers"},
                                                          {ArgumentKind::init, "initializer"},
                                                          {ArgumentKind::field, "field"}}};

ordered_json argument_to_json(const ZooArgument& argument) {
  ordered_json object = {{"name", argument.name},
                         {"description", argument.description},
                         {"kind", find_name(argument_kind_names, argument.kind)}};
  const bool is_found_out = argument.standard == Value("");
  object["default"] = is_found_out ? ordered_json(nullptr) : value_to_json(argument.standard);
  const bool is_list = argument.kind == ArgumentKind::integers;
  if (is_list || argument.kind == ArgumentKind::integer || argument.kind == ArgumentKind::number) {
    object["minimum"] = number_to_json(argument.least);
    object["maximum"] = number_to_json(argument.most);
  }
  if (is_list) object["items_max"] = argument.items_max;
  if (argument.kind == ArgumentKind::choice) object["choices"] = argument.choices;
  return object;
}

}  // namespace

ordered_json model_to_json(const Written& written) {
  if (const auto* model = std::get_if<Model>(&written)) return layers_model_to_json(*model);
  const auto& call = std::get<ZooCall>(written);
  if (call.is_short && call.arguments.empty()) return call.name;
  ordered_json object = {{"name", call.name}};
  add_arguments(object, call.arguments);
  return object;
}

ordered_json arguments_to_json(const Arguments& arguments) {
  ordered_json object = ordered_json::object();
  add_arguments(object, arguments);
  return object;
}

std::string print_model(const Written& written) {
  std::string text;
  append_text(text, model_to_json(written), 0, 0);
  text += '\n';
  return text;
}

ordered_json zoo_model_to_json(const ZooModel& zoo_model) {
  ordered_json arguments = ordered_json::array();
  for (const ZooArgument& argument : zoo_model.arguments) {
    arguments.push_back(argument_to_json(argument));
  }
  return {{"name", zoo_model.name},
          {"description", zoo_model.description},
          {"arguments", std::move(arguments)},
          {"facts", zoo_model.facts}};
}

}  // namespace trainyard::model
