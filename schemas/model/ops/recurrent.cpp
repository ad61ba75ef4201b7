// Networks that walk along a sequence: lstm, gru, rnn.
#include "schemas/model/layer_scribe.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

// What one of them has for each of its units.
struct Cell {
  std::int64_t gates = 1;
  // Numbers that each unit keeps at each step for the backward pass.
  std::int64_t kept = 1;
  // The product with the state has a bias of its own for the candidate (gru: it is reset).
  bool has_recurrent_bias = false;
};

Cell cell_of(std::string_view op) {
  if (op == "lstm") return {.gates = 4, .kept = 7};  // gates i f g o, c, tanh c, h
  if (op == "gru") return {.gates = 3, .kept = 5, .has_recurrent_bias = true};  // r z n, Wn h, h
  return {};
}

// The variables of one direction; `prefix`: "" or "forward/".
void adds_direction(LayerScribe& layer, const std::string& prefix, std::int64_t in,
                    std::int64_t units) {
  const Cell cell = cell_of(layer.op());
  const std::int64_t gates = size_or_unknown(times(known(units), cell.gates));
  const Fans fans{static_cast<double>(in), static_cast<double>(units)};
  // PyTorch's bound follows the units alone, of all of its variables.
  const Fans state_fans{static_cast<double>(units), static_cast<double>(units)};
  layer.adds_kernel({.suffix = prefix + "kernel",
                     .shape = {in, gates},
                     .fans = layer.starts_as_torch() ? state_fans : fans,
                     .standard = "xavier_uniform"});
  layer.adds_kernel({.suffix = prefix + "recurrent_kernel",
                     .shape = {units, gates},
                     .fans = state_fans,
                     .standard = "orthogonal",
                     .argument = "recurrent_init"});
  const auto forget = layer.given().number("forget_bias");
  if (forget && *forget != 0) {
    layer.adds_fixed(prefix + "bias", {gates}, {StartKind::forget_gate, *forget});
  } else {
    layer.adds_bias(prefix + "bias", gates, state_fans);
  }
  if (cell.has_recurrent_bias) layer.adds_bias(prefix + "recurrent_bias", units, state_fans);
}

// [time, in] -> [units] ("last") or [time, units] ("all"); twice as many units for "both".
void recurrent(LayerScribe& layer) {
  Given& given = layer.given();
  const std::int64_t units = size_or_unknown(given.integer("units"));
  const bool is_sequence = layer.has_rank(0, 2, 2, "[time, features]");
  const std::int64_t in = is_sequence ? layer.last_size(0) : unknown_size;
  const std::string direction = given.text("direction");
  const std::int64_t directions = direction == "both" ? 2 : 1;
  if (directions == 2) {
    adds_direction(layer, "forward/", in, units);
    adds_direction(layer, "backward/", in, units);
  } else {
    adds_direction(layer, "", in, units);
  }
  layer.costs().keeps(Kept::input_for_kernel);
  if (!is_sequence) return;

  const Cell cell = cell_of(layer.op());
  const std::int64_t time = layer.shape(0)->front();
  const Count steps = times(known(time), times(known(units), directions));
  layer.costs().multiplies(times(times(steps, cell.gates), known(in)));
  layer.costs().multiplies_state(times(times(steps, cell.gates), known(units)));
  layer.costs().keeps_bytes(times(4, times(steps, cell.kept)));
  const std::int64_t out = size_or_unknown(times(known(units), directions));
  if (!given.is_known("output")) return;
  layer.gives(given.text("output") == "all" ? Sizes{time, out} : Sizes{out});
}

}  // namespace

std::vector<OpRule> recurrent_ops() {
  const ArgumentRules common{required_size("units"),
                             choice_or("direction", "forward", {"forward", "backward", "both"}),
                             choice_or("output", "last", {"last", "all"}),
                             init_rule("init"),
                             init_rule("recurrent_init"),
                             init_rule("bias_init")};
  ArgumentRules lstm = common;
  lstm.push_back(number_or("forget_bias", 0, -100, 100));
  ArgumentRules rnn = common;
  rnn.push_back(choice_or("activation", "tanh", {"tanh", "relu"}));
  return {{.name = "lstm", .arguments = lstm, .infer = recurrent},
          {.name = "gru", .arguments = common, .infer = recurrent},
          {.name = "rnn", .arguments = rnn, .infer = recurrent}};
}

}  // namespace trainyard::model
