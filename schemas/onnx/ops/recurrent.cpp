// lstm, gru and rnn, whose weights ONNX has with the gates in another order, [directions, gates *
// units, in], and with two biases. Time comes before the batch there.
#include <algorithm>

#include "schemas/base/check.h"
#include "schemas/onnx/op_writer.h"

namespace trainyard::onnx {
namespace {

// How an op's gates become ONNX's: gate i of ours is at order[i] there.
struct Cell {
  const char* op;
  std::vector<std::size_t> order;
};

Cell cell_of(std::string_view op) {
  if (op == "lstm") return {"LSTM", {0, 2, 3, 1}};  // i f g o -> i o f c, where c is our g
  if (op == "gru") return {"GRU", {1, 0, 2}};       // r z n -> z r h, where h is our n
  ENSURE(op == "rnn");
  return {"RNN", {0}};
}

std::vector<std::string> prefixes_of(const LayerWriter& layer) {
  if (layer.text("direction") == "both") return {"forward/", "backward/"};
  return {""};
}

// [rows, gates * units] -> [gates * units, rows] with the gates in ONNX's order.
void append_turned(const Floats& kernel, std::size_t rows, const Cell& cell, Floats& to) {
  const std::size_t gates = cell.order.size();
  const std::size_t units = kernel.size() / rows / gates;
  const std::size_t begin = to.size();
  to.resize(begin + kernel.size());
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < gates * units; ++column) {
      const std::size_t place = cell.order[column / units] * units + column % units;
      to[begin + place * rows + row] = kernel[row * gates * units + column];
    }
  }
}

// The kernels of all directions, one after another.
std::string kernels(LayerWriter& layer, const char* name, const char* suffix, const Cell& cell) {
  Weight weight{.name = layer.layer().name + ':' + name, .shape = {}, .variables = {}};
  std::int64_t rows = 0;
  for (const std::string& prefix : prefixes_of(layer)) {
    const model::Variable& variable = layer.variable(prefix + suffix);
    weight.variables.push_back(variable.name);
    rows = variable.shape[0];
    weight.shape = {std::ssize(weight.variables), variable.shape[1], rows};
  }
  weight.arrange = [rows, cell](std::span<const Floats> variables) {
    Floats all;
    for (const Floats& kernel : variables) {
      append_turned(kernel, static_cast<std::size_t>(rows), cell, all);
    }
    return all;
  };
  return layer.graph().weight(std::move(weight));
}

// Ours is that of the input's product; that of the state's is zero, but for a gru's new gate.
std::string biases(LayerWriter& layer, const Cell& cell) {
  Weight weight{.name = layer.layer().name + ":B", .shape = {}, .variables = {}};
  const bool has_recurrent = layer.layer().op == "gru";
  std::int64_t width = 0;
  for (const std::string& prefix : prefixes_of(layer)) {
    const model::Variable& bias = layer.variable(prefix + "bias");
    width = bias.shape[0];
    weight.variables.push_back(bias.name);
    if (has_recurrent) weight.variables.push_back(layer.variable(prefix + "recurrent_bias").name);
  }
  weight.shape = {std::ssize(prefixes_of(layer)), 2 * width};
  weight.arrange = [has_recurrent, cell](std::span<const Floats> variables) {
    Floats all;
    const std::size_t step = has_recurrent ? 2 : 1;
    for (std::size_t i = 0; i < variables.size(); i += step) {
      const std::size_t begin = all.size();
      append_turned(variables[i], 1, cell, all);
      all.resize(begin + 2 * variables[i].size(), 0.0F);
      if (has_recurrent) {  // of the last gate, in ONNX's order too
        std::ranges::copy(variables[i + 1], all.end() - std::ssize(variables[i + 1]));
      }
    }
    return all;
  };
  return layer.graph().weight(std::move(weight));
}

Attributes attributes_of(const LayerWriter& layer) {
  const std::string& direction = layer.text("direction");
  const bool is_both = direction == "both";
  Attributes attributes{{"hidden_size", layer.integer("units")},
                        {"direction", std::string(is_both                   ? "bidirectional"
                                                  : direction == "backward" ? "reverse"
                                                                            : "forward")}};
  if (layer.layer().op == "gru") attributes.push_back({"linear_before_reset", 1});
  if (layer.layer().op == "rnn") {
    const std::string function = layer.text("activation") == "relu" ? "Relu" : "Tanh";
    attributes.push_back({"activations", is_both ? Texts{function, function} : Texts{function}});
  }
  return attributes;
}

void recurrent(LayerWriter& layer) {
  const Cell cell = cell_of(layer.layer().op);
  const std::string& name = layer.layer().name;
  const std::string x = layer.add("Transpose", {layer.last()}, {{"perm", Integers{1, 0, 2}}});
  NodeWish wish{.op = cell.op, .inputs = {}, .attributes = attributes_of(layer)};
  wish.inputs = {x, kernels(layer, "W", "kernel", cell),
                 kernels(layer, "R", "recurrent_kernel", cell), biases(layer, cell)};
  const std::string lengths = layer.lengths_of_x();
  if (!lengths.empty()) wish.inputs.push_back(lengths);
  if (layer.text("output") == "all") {  // [time, directions, batch, units]
    const std::string all = layer.graph().add(wish, name + ":Y");
    const std::string turned = layer.add("Transpose", {all}, {{"perm", Integers{2, 0, 1, 3}}});
    return layer.gives_last(layer.add_reshape(turned, layer.output_shape()));
  }
  // [directions, batch, units]
  const std::string last = layer.graph().add(wish, Texts{"", name + ":Y_h"}).back();
  const std::string turned = layer.add("Transpose", {last}, {{"perm", Integers{1, 0, 2}}});
  layer.gives_last(layer.add_reshape(turned, layer.output_shape()));
}

}  // namespace

std::vector<OpWriter> recurrent_writers() {
  return {{"lstm", recurrent}, {"gru", recurrent}, {"rnn", recurrent}};
}

}  // namespace trainyard::onnx
