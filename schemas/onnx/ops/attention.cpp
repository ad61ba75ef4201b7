// Layers of sequences that look at places: attention by products and a softmax, learned positions,
// rotations by tables of cosines and sines.
#include <cmath>

#include "schemas/onnx/op_writer.h"

namespace trainyard::onnx {
namespace {

// 0, 1, .. of so many steps, as a tensor of this shape.
std::string steps(LayerWriter& layer, std::int64_t count, const Integers& shape) {
  if (!layer.graph().has_room_for(count)) count = 0;  // the export is refused afterwards
  Integers places;
  for (std::int64_t t = 0; t < count; ++t) places.push_back(t);
  return layer.graph().int32s("steps", places, shape);
}

// [time, features] -> [heads, time, features of a head], or with the last two swapped.
std::string heads_of(LayerWriter& layer, std::size_t input, const Integers& order) {
  const model::Sizes& shape = layer.shape(input);
  const std::int64_t heads = layer.integer("heads");
  const std::string cut = layer.add_reshape(layer.last(input), {shape[0], heads, shape[1] / heads});
  return layer.add("Transpose", {cut}, {{"perm", order}});
}

// Which keys a query sees, for the scores [batch, heads, queries, keys]; "" is all of them.
std::string mask_of(LayerWriter& layer, const std::string& lengths) {
  const std::int64_t queries = layer.shape(0)[0];
  const std::int64_t keys = layer.shape(1)[0];
  std::string mask;
  if (layer.flag("causal")) {
    mask = layer.add("LessOrEqual", {steps(layer, keys, {1, 1, 1, keys}),
                                     steps(layer, queries, {1, 1, queries, 1})});
  }
  if (lengths.empty()) return mask;
  const std::string length = layer.add_reshape(lengths, {1, 1, 1});
  const std::string there = layer.add("Less", {steps(layer, keys, {1, 1, 1, keys}), length});
  return mask.empty() ? there : layer.add("And", {mask, there});
}

void sdpa(LayerWriter& layer) {
  const model::Sizes& shape = layer.output_shape();
  const std::int64_t features = shape[1] / layer.integer("heads");  // of a head
  const std::string lengths = layer.lengths_of_time(layer.shape(1)[0]);
  const std::string q = heads_of(layer, 0, {0, 2, 1, 3});
  const std::string k = heads_of(layer, 1, {0, 2, 3, 1});
  const std::string v = heads_of(layer, 2, {0, 2, 1, 3});
  const std::string mask = mask_of(layer, lengths);

  const std::string products = layer.add("MatMul", {q, k});
  std::string scores = layer.add(
      "Mul", {products, layer.graph().scalar(1 / std::sqrt(static_cast<double>(features)))});
  constexpr double least = -3e38;  // no infinity: of a row of these alone a softmax is no number
  if (!mask.empty()) scores = layer.add("Where", {mask, scores, layer.graph().scalar(least)});
  std::string shares = layer.add("Softmax", {scores}, {{"axis", -1}});
  // A query that sees no key gets 0.
  if (!lengths.empty()) shares = layer.add("Where", {mask, shares, layer.graph().scalar(0)});
  const std::string mixed = layer.add("MatMul", {shares, v});
  const std::string turned = layer.add("Transpose", {mixed}, {{"perm", Integers{0, 2, 1, 3}}});
  layer.gives_last(layer.add_reshape(turned, shape));
}

// The table may be longer than the data's sequences.
void positions(LayerWriter& layer) {
  GraphScribe& graph = layer.graph();
  std::string table = layer.weight("kernel");
  const std::int64_t time = layer.shape()[0];
  if (layer.variable("kernel").shape[0] != time) {
    table = layer.add("Slice", {table, graph.list({0}), graph.list({time}), graph.list({0})});
  }
  layer.gives_last(layer.add("Add", {layer.last(), table}));
}

struct Turns {
  Floats cosines;  // [time, pairs]
  Floats sines;
};

// At place t pair i of each head is turned by t theta^(-i / pairs) radians.
Turns turns_of(std::int64_t time, std::int64_t pairs, double theta) {
  Turns turns;
  for (std::int64_t t = 0; t < time; ++t) {
    for (std::int64_t i = 0; i < pairs; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(pairs);
      const double angle = static_cast<double>(t) * std::pow(theta, -share);
      turns.cosines.push_back(static_cast<float>(std::cos(angle)));
      turns.sines.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return turns;
}

void rope(LayerWriter& layer) {
  GraphScribe& graph = layer.graph();
  const std::int64_t time = layer.shape()[0];
  const std::int64_t features = layer.shape()[1];
  const std::int64_t heads = layer.integer("heads");
  const std::int64_t pairs = features / heads / 2;
  if (!graph.has_room_for(time * pairs)) return layer.gives_same(0);  // refused afterwards
  const Turns turns = turns_of(time, pairs, layer.number("theta"));
  const Integers table{time, 1, pairs, 1};
  const std::string cosines = graph.numbers("cosines", turns.cosines, table);
  const std::string sines = graph.numbers("sines", turns.sines, table);

  const std::string cut = layer.add_reshape(layer.last(), {time, heads, pairs, 2});
  const auto member = [&](std::int64_t which) {
    return layer.add("Slice", {cut, graph.list({which}), graph.list({which + 1}), graph.list({4})});
  };
  const auto product = [&](const std::string& left, const std::string& right) {
    return layer.add("Mul", {left, right});
  };
  const std::string even = member(0);
  const std::string odd = member(1);
  const std::string new_even = layer.add("Sub", {product(even, cosines), product(odd, sines)});
  const std::string new_odd = layer.add("Add", {product(even, sines), product(odd, cosines)});
  const std::string both = layer.add("Concat", {new_even, new_odd}, {{"axis", 4}});
  layer.gives_last(layer.add_reshape(both, layer.output_shape()));
}

}  // namespace

std::vector<OpWriter> attention_writers() {
  return {{"sdpa", sdpa}, {"positions", positions}, {"rope", rope}};
}

}  // namespace trainyard::onnx
