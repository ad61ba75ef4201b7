#include "schemas/onnx/export.h"

#include <algorithm>
#include <utility>

#include "schemas/base/version.h"
#include "schemas/model/exportable.h"
#include "schemas/onnx/op_writer.h"

namespace trainyard::onnx {
namespace {

bool is_known(const model::Sizes& sizes) {
  return std::ranges::find(sizes, model::unknown_size) == sizes.end();
}

Status check_sizes(const model::Analysis& analysis) {
  if (!analysis.faults.empty()) {
    const Fault& fault = analysis.faults.front();
    return conflict(fault.pointer + ": " + fault.message);
  }
  for (const model::AnalysedLayer& layer : analysis.layers) {
    if (layer.shape && is_known(*layer.shape)) continue;
    return conflict(layer.pointer + ": the shape of " + layer.name + " (" + layer.op +
                    ") is not known: the data set's files alone tell it");
  }
  for (const model::Variable& variable : analysis.variables) {
    if (!is_known(variable.shape))
      return conflict("the size of " + variable.name + " is not known");
  }
  return ok();
}

// Losses read these, in their order and once each.
std::vector<std::size_t> outputs_of(const model::Analysis& analysis) {
  std::vector<std::size_t> outputs;
  for (const model::AnalysedTerm& loss : analysis.losses) {
    for (const std::size_t layer : loss.in) {
      if (std::ranges::find(outputs, layer) == outputs.end()) outputs.push_back(layer);
    }
  }
  return outputs;
}

// By layer: whether an output depends on it.
std::vector<bool> needed_for(const model::Analysis& analysis,
                             const std::vector<std::size_t>& outputs) {
  std::vector<bool> needed(analysis.layers.size(), false);
  for (const std::size_t output : outputs) needed[output] = true;
  for (std::size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const std::size_t input : analysis.layers[i].in) needed[input] = true;
  }
  return needed;
}

void write_input(ModelWriter& writer, const model::AnalysedLayer& layer) {
  const model::Value* const field = model::find(layer.arguments, "field");
  const bool has_name = field != nullptr && field->text() != nullptr;
  const int element_type =
      layer.kind == model::ElementKind::id ? TensorProto::INT64 : TensorProto::FLOAT;
  writer.values.push_back({.last = writer.graph.input(has_name ? *field->text() : layer.name,
                                                      *layer.shape, element_type),
                           .first = {}});
}

bool heeds_lengths(const model::AnalysedLayer& layer) {
  return layer.op == "lstm" || layer.op == "gru" || layer.op == "rnn" || layer.op == "sdpa";
}

// An input that no node reads is none: it goes.
void drop_unread_lengths(ModelWriter& writer) {
  GraphProto& graph = writer.graph.graph();
  for (const NodeProto& node : graph.node()) {
    if (std::ranges::find(node.input(), writer.lengths) != node.input().end()) return;
  }
  for (int i = 0; i < graph.input_size(); ++i) {
    if (graph.input(i).name() != writer.lengths) continue;
    graph.mutable_input()->DeleteSubrange(i, 1);
    return;
  }
}

void write_layers(ModelWriter& writer, const std::vector<bool>& needed, Lengths lengths) {
  const auto& layers = writer.analysis.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!needed[i]) {
      writer.values.emplace_back();
      continue;
    }
    if (layers[i].op == "input") {
      write_input(writer, layers[i]);
      continue;
    }
    if (lengths == Lengths::given && writer.lengths.empty() && heeds_lengths(layers[i])) {
      writer.lengths = writer.graph.input("lengths", {}, TensorProto::INT32);
    }
    LayerWriter layer(writer, layers[i]);
    find_op_writer(layers[i].op)->write(layer);
    writer.values.push_back(layer.result());
  }
  if (!writer.lengths.empty()) drop_unread_lengths(writer);
}

void write_output(ModelWriter& writer, std::size_t position) {
  const model::AnalysedLayer& layer = writer.analysis.layers[position];
  // As a layer that reads it, which has it with channels last.
  model::AnalysedLayer reader{.name = layer.name, .op = "output", .in = {position}};
  reader.shape = layer.shape;
  std::string tensor = LayerWriter(writer, reader).last();
  if (tensor != layer.name) {
    tensor = writer.graph.add({.op = "Identity", .inputs = {tensor}}, layer.name);
  }
  writer.graph.output(tensor, *layer.shape);
}

void describe_file(const ExportRequest& request, ModelProto& proto) {
  proto.set_ir_version(ir_version);
  proto.set_producer_name("trainyard");
  proto.set_producer_version(std::string(version()));
  auto& set = *proto.add_opset_import();
  set.set_domain("");
  set.set_version(opset);
  for (const auto& [key, value] : request.metadata) {
    auto& entry = *proto.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
}

}  // namespace

Result<OnnxModel> export_model(const ExportRequest& request) {
  const model::Analysis& analysis = request.analysis;
  if (const auto faults = model::not_in_onnx(analysis); !faults.empty()) {
    return invalid(faults.front().pointer + ": " + faults.front().message);
  }
  TRY(check_sizes(analysis));
  const std::vector<std::size_t> outputs = outputs_of(analysis);
  ModelWriter writer{.analysis = analysis};
  write_layers(writer, needed_for(analysis, outputs), request.lengths);
  for (const std::size_t output : outputs) write_output(writer, output);
  if (writer.graph.is_full()) {
    return invalid("the model's masks and tables are too large for an ONNX graph");
  }
  OnnxModel model;
  describe_file(request, model.proto);
  writer.graph.graph().set_name(request.name);
  *model.proto.mutable_graph() = std::move(writer.graph.graph());
  model.weights = writer.graph.take_weights();
  return model;
}

}  // namespace trainyard::onnx
