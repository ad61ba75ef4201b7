#include "schemas/model/written.h"

#include <algorithm>

namespace trainyard::model {

bool is_name(std::string_view text) {
  const auto is_letter = [](char byte) { return byte >= 'a' && byte <= 'z'; };
  const auto may_follow = [&](char byte) {
    return is_letter(byte) || (byte >= '0' && byte <= '9') || byte == '_';
  };
  return !text.empty() && text.size() <= name_letters_max && is_letter(text.front()) &&
         std::ranges::all_of(text, may_follow);
}

// Here, not in the header: there an Argument is not complete yet.
Value::Value() = default;
Value::Value(double number) : is(number) {}
Value::Value(int number) : is(static_cast<double>(number)) {}
Value::Value(std::int64_t number) : is(static_cast<double>(number)) {}
Value::Value(bool flag) : is(flag) {}
Value::Value(const char* text) : is(std::string(text)) {}
Value::Value(std::string text) : is(std::move(text)) {}
Value::Value(List list) : is(std::move(list)) {}
Value::Value(Object object) : is(std::move(object)) {}
Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

bool operator==(const Value& left, const Value& right) { return left.is == right.is; }

const Value* find(const Arguments& arguments, std::string_view name) {
  const auto found = std::ranges::find(arguments, name, &Argument::name);
  return found == arguments.end() ? nullptr : &found->value;
}

bool operator==(const RepeatLayer& left, const RepeatLayer& right) {
  return left.times == right.times && left.layers == right.layers;
}

bool operator==(const ResidualLayer& left, const ResidualLayer& right) {
  return left.layers == right.layers && left.shortcut == right.shortcut;
}

bool operator==(const Layer& left, const Layer& right) {
  return left.what == right.what && left.name == right.name && left.in == right.in &&
         left.arguments == right.arguments;
}

bool operator==(const Model& left, const Model& right) {
  return left.inputs == right.inputs && left.define == right.define &&
         left.blocks == right.blocks && left.init == right.init && left.layers == right.layers &&
         left.losses == right.losses && left.metrics == right.metrics;
}

bool operator==(const ZooCall& left, const ZooCall& right) {
  return left.name == right.name && left.arguments == right.arguments;
}

Layer op(std::string name, Arguments arguments) {
  return {.what = OpLayer{std::move(name)}, .arguments = std::move(arguments)};
}

Layer repeat(Value times, Layers layers) {
  return {.what = RepeatLayer{std::move(times), std::move(layers)}};
}

Layer residual(Layers layers) { return residual(std::move(layers), Layers{}); }

Layer residual(Layers layers, Layers shortcut) {
  return {.what = ResidualLayer{.layers = std::move(layers), .shortcut = std::move(shortcut)}};
}

Layer use(std::string block, Arguments parameters) {
  return {.what = UseLayer{std::move(block)}, .arguments = std::move(parameters)};
}

Layer named(std::string name, Layer layer) {
  layer.name = std::move(name);
  return layer;
}

Layer reading(std::vector<std::string> in, Layer layer) {
  layer.in = std::move(in);
  return layer;
}

Value from(std::string argument, Value value) {
  value.from = std::move(argument);
  return value;
}

Layer from(std::string argument, Layer layer) {
  layer.from = std::move(argument);
  return layer;
}

}  // namespace trainyard::model
