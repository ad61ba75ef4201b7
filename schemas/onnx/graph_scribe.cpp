#include "schemas/onnx/graph_scribe.h"

#include <algorithm>

#include "schemas/base/check.h"

namespace trainyard::onnx {
namespace {

constexpr const char* batch_axis = "batch";

AttributeProto to_proto(const Attribute& attribute) {
  AttributeProto proto;
  proto.set_name(attribute.name);
  if (const auto* integer = std::get_if<std::int64_t>(&attribute.value)) {
    proto.set_type(AttributeProto::INT);
    proto.set_i(*integer);
  } else if (const auto* number = std::get_if<double>(&attribute.value)) {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(static_cast<float>(*number));
  } else if (const auto* text = std::get_if<std::string>(&attribute.value)) {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(*text);
  } else if (const auto* integers = std::get_if<Integers>(&attribute.value)) {
    proto.set_type(AttributeProto::INTS);
    for (const std::int64_t one : *integers) proto.add_ints(one);
  } else {
    proto.set_type(AttributeProto::STRINGS);
    for (const std::string& one : std::get<Texts>(attribute.value)) proto.add_strings(one);
  }
  return proto;
}

template <class Number, class Values>
TensorProto tensor_of(const Values& values, const Integers& shape, int element_type) {
  TensorProto tensor;
  tensor.set_data_type(element_type);
  for (const std::int64_t size : shape) tensor.add_dims(size);
  std::string* const bytes = tensor.mutable_raw_data();  // little-endian, as this machine
  for (const auto value : values) {
    const auto number = static_cast<Number>(value);
    bytes->append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  return tensor;
}

void describe(ValueInfoProto& info, const std::string& name, const model::Sizes& example) {
  info.set_name(name);
  auto* const tensor = info.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(TensorProto::FLOAT);
  tensor->mutable_shape()->add_dim()->set_dim_param(batch_axis);
  for (const std::int64_t size : example) tensor->mutable_shape()->add_dim()->set_dim_value(size);
}

}  // namespace

std::string GraphScribe::unique(const std::string& name) {
  std::string tried = name;
  for (int i = 2; !names_.insert(tried).second; ++i) tried = name + '_' + std::to_string(i);
  return tried;
}

Texts GraphScribe::add(const NodeWish& wish, const Texts& outputs) {
  NodeProto& node = *graph_.add_node();
  node.set_op_type(wish.op);
  for (const std::string& input : wish.inputs) node.add_input(input);
  Texts given;
  for (const std::string& output : outputs) {
    given.push_back(output.empty() ? output : unique(output));
    node.add_output(given.back());
  }
  for (const Attribute& attribute : wish.attributes) *node.add_attribute() = to_proto(attribute);
  node.set_name(*std::ranges::find_if_not(given, &std::string::empty));
  return given;
}

std::string GraphScribe::add(const NodeWish& wish, const std::string& output) {
  return add(wish, Texts{output}).front();
}

std::string GraphScribe::renamed(const std::string& from, const std::string& to) {
  if (graph_.node_size() == 0 || names_.contains(to)) return from;
  NodeProto& node = *graph_.mutable_node(graph_.node_size() - 1);
  if (node.output_size() != 1 || node.output(0) != from) return from;
  names_.erase(from);
  node.set_output(0, unique(to));
  node.set_name(node.output(0));
  return node.output(0);
}

std::string GraphScribe::constant(TensorProto tensor, const std::string& name) {
  std::string content = tensor.SerializeAsString();
  if (const auto known = constants_.find(content); known != constants_.end()) return known->second;
  constant_bytes_ += static_cast<std::int64_t>(content.size());
  std::string given = unique("constant:" + name);
  tensor.set_name(given);
  *graph_.add_initializer() = std::move(tensor);
  constants_.emplace(std::move(content), given);
  return given;
}

std::string GraphScribe::scalar(double value) {
  return numbers("scalar", {static_cast<float>(value)}, {});
}

std::string GraphScribe::numbers(const std::string& name, const Floats& values,
                                 const Integers& shape) {
  return constant(tensor_of<float>(values, shape, TensorProto::FLOAT), name);
}

std::string GraphScribe::integers(const std::string& name, const Integers& values,
                                  const Integers& shape) {
  return constant(tensor_of<std::int64_t>(values, shape, TensorProto::INT64), name);
}

std::string GraphScribe::int32s(const std::string& name, const Integers& values,
                                const Integers& shape) {
  return constant(tensor_of<std::int32_t>(values, shape, TensorProto::INT32), name);
}

std::string GraphScribe::weight(Weight weight) {
  const auto same = std::ranges::find(weights_, weight.name, &Weight::name);
  if (same != weights_.end()) return same->name;
  weight.name = unique(weight.name);
  weights_.push_back(std::move(weight));
  return weights_.back().name;
}

std::string GraphScribe::input(const std::string& name, const model::Sizes& example,
                               int element_type) {
  std::string given = unique(name);
  ValueInfoProto& info = *graph_.add_input();
  describe(info, given, example);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(element_type);
  return given;
}

void GraphScribe::output(const std::string& name, const model::Sizes& example) {
  describe(*graph_.add_output(), name, example);
}

bool GraphScribe::has_room_for(std::int64_t elements) {
  constexpr std::int64_t bytes_most = sizeof(std::int64_t);
  if (elements > (constant_bytes_max - constant_bytes_) / bytes_most) is_full_ = true;
  return !is_full_;
}

}  // namespace trainyard::onnx
