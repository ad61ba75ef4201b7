#include "schemas/onnx/layer_writer.h"

#include "schemas/base/check.h"
#include "schemas/model/data_time.h"

namespace trainyard::onnx {
namespace {

const model::Value& argument(const model::AnalysedLayer& layer, std::string_view name) {
  const model::Value* const value = model::find(layer.arguments, name);
  ENSURE(value != nullptr);
  return *value;
}

const model::Variable* find_variable(const model::Analysis& analysis,
                                     const model::AnalysedLayer& layer, std::string_view suffix) {
  for (const std::size_t index : layer.variables) {
    const model::Variable& variable = analysis.variables[index];
    const std::string& name = variable.name;
    const bool is_it = name.size() == layer.name.size() + 1 + suffix.size() &&
                       name.starts_with(layer.name) && name.ends_with(suffix);
    if (is_it) return &variable;
  }
  return nullptr;
}

std::string first_name(const std::string& layer) { return layer + ":channels_first"; }

}  // namespace

Integers to_channels_first(std::size_t rank) {
  Integers axes{0, static_cast<std::int64_t>(rank)};
  for (std::size_t i = 1; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

Integers to_channels_last(std::size_t rank) {
  Integers axes{0};
  for (std::size_t i = 2; i <= rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
  axes.push_back(1);
  return axes;
}

const model::Sizes& LayerWriter::shape(std::size_t input) const {
  return *model_.analysis.layers[layer_.in.at(input)].shape;
}

const LayerValue& LayerWriter::value(std::size_t input) const {
  return model_.values[layer_.in.at(input)];
}

bool LayerWriter::is_first(std::size_t input) const { return value(input).last.empty(); }

std::string LayerWriter::last(std::size_t input) {
  LayerValue& value = model_.values[layer_.in.at(input)];
  if (value.last.empty()) {
    const std::string& name = model_.analysis.layers[layer_.in.at(input)].name;
    value.last = graph().add({.op = "Transpose",
                              .inputs = {value.first},
                              .attributes = {{"perm", to_channels_last(shape(input).size())}}},
                             name);
  }
  return value.last;
}

std::string LayerWriter::first(std::size_t input) {
  LayerValue& value = model_.values[layer_.in.at(input)];
  if (shape(input).size() < 2) return last(input);
  if (value.first.empty()) {
    const std::string& name = model_.analysis.layers[layer_.in.at(input)].name;
    value.first = graph().add({.op = "Transpose",
                               .inputs = {value.last},
                               .attributes = {{"perm", to_channels_first(shape(input).size())}}},
                              first_name(name));
  }
  return value.first;
}

std::string LayerWriter::lengths_of_x() const {
  return model::follows_data_time(analysis(), layer_.in.front()) ? model_.lengths : "";
}

std::string LayerWriter::lengths_of_time(std::int64_t time) const {
  return model::is_time_of_data(analysis(), time) ? model_.lengths : "";
}

double LayerWriter::number(std::string_view name) const {
  const double* const number = argument(layer_, name).number();
  ENSURE(number != nullptr);
  return *number;
}

std::int64_t LayerWriter::integer(std::string_view name) const {
  return static_cast<std::int64_t>(number(name));
}

bool LayerWriter::flag(std::string_view name) const {
  const bool* const flag = argument(layer_, name).flag();
  ENSURE(flag != nullptr);
  return *flag;
}

const std::string& LayerWriter::text(std::string_view name) const {
  const std::string* const text = argument(layer_, name).text();
  ENSURE(text != nullptr);
  return *text;
}

Integers LayerWriter::integers(std::string_view name) const {
  const model::Value* const value = model::find(layer_.arguments, name);
  if (value == nullptr || value->list() == nullptr) return {};
  Integers integers;
  for (const model::Value& item : *value->list()) {
    ENSURE(item.number() != nullptr);
    integers.push_back(static_cast<std::int64_t>(*item.number()));
  }
  return integers;
}

bool LayerWriter::has_variable(std::string_view suffix) const {
  return find_variable(analysis(), layer_, suffix) != nullptr;
}

const model::Variable& LayerWriter::variable(std::string_view suffix) const {
  const model::Variable* const variable = find_variable(analysis(), layer_, suffix);
  ENSURE(variable != nullptr);
  return *variable;
}

std::string LayerWriter::weight(const model::Variable& variable) {
  return graph().weight(
      {.name = variable.name, .shape = variable.shape, .variables = {variable.name}});
}

std::string LayerWriter::weight(std::string_view suffix) { return weight(variable(suffix)); }

std::string LayerWriter::weight(std::string_view suffix, Weight changed) {
  const model::Variable& of = variable(suffix);
  changed.name = of.name + ':' + changed.name;
  changed.variables = {of.name};
  return graph().weight(std::move(changed));
}

std::string LayerWriter::add(const std::string& op, Texts inputs, Attributes attributes) {
  return graph().add({.op = op, .inputs = std::move(inputs), .attributes = std::move(attributes)},
                     layer_.name + ':' + op);
}

std::string LayerWriter::add_reshape(const std::string& x, const Integers& example) {
  Integers sizes{-1};
  sizes.insert(sizes.end(), example.begin(), example.end());
  return add("Reshape", {x, graph().list(sizes)});
}

void LayerWriter::gives_last(const std::string& tensor) {
  result_.last = graph().renamed(tensor, layer_.name);
}

void LayerWriter::gives_first(const std::string& tensor) {
  if (layer_.shape->size() < 2) return gives_last(tensor);
  result_.first = graph().renamed(tensor, first_name(layer_.name));
}

void LayerWriter::gives_same(std::size_t input) { result_ = value(input); }

}  // namespace trainyard::onnx
