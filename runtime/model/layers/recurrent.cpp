// Recurrent networks.
#include "runtime/model/layers/builders.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// `prefix`: "" or "forward/".
std::vector<NodeId> inputs_of(const LayerContext& layer, const std::string& prefix) {
  std::vector<NodeId> inputs{layer.x()};
  for (const char* const name : {"kernel", "recurrent_kernel", "bias"}) {
    inputs.push_back(layer.variable(prefix + name));
  }
  const std::string recurrent_bias = prefix + "recurrent_bias";
  if (layer.has_variable(recurrent_bias)) inputs.push_back(layer.variable(recurrent_bias));
  return inputs;
}

Op op_of(const LayerContext& layer, TimeOrder order) {
  const Along along{
      .order = order,
      .output = layer.text("output") == "all" ? Recurrence::Output::all : Recurrence::Output::last,
      .has_lengths = layer.x_has_lengths()};
  const std::string& op = layer.layer().op;
  if (op == "lstm") return LstmOp{along};
  if (op == "gru") return GruOp{along};
  ENSURE(op == "rnn");
  return RnnOp{.along = along, .is_relu = layer.text("activation") == "relu"};
}

// Of both directions the forward one's numbers come first.
NodeId recurrent(LayerContext& layer) {
  const std::string& direction = layer.text("direction");
  if (direction != "both") {
    const TimeOrder order = direction == "forward" ? TimeOrder::forward : TimeOrder::backward;
    return layer.add(op_of(layer, order), inputs_of(layer, ""));
  }
  const NodeId forward = layer.add(op_of(layer, TimeOrder::forward), inputs_of(layer, "forward/"));
  const NodeId backward =
      layer.add(op_of(layer, TimeOrder::backward), inputs_of(layer, "backward/"));
  return layer.add(ConcatOp{layer.shape(forward).rank() - 1}, {forward, backward});
}

}  // namespace

std::vector<LayerBuilder> recurrent_builders() {
  return {{"lstm", recurrent}, {"gru", recurrent}, {"rnn", recurrent}};
}

}  // namespace trainyard::runtime
