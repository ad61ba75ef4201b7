// Other places for the same numbers, and reductions over axes.
#include <algorithm>

#include "schemas/onnx/op_writer.h"

namespace trainyard::onnx {
namespace {

// Axes of one example, which are one more in a batch; what was written may count from the last.
Integers axes_of(const LayerWriter& layer) {
  const auto rank = static_cast<std::int64_t>(layer.shape().size());
  Integers axes = layer.integers("axes");
  for (std::int64_t& axis : axes) axis = (axis < 0 ? axis + rank : axis) + 1;
  return axes;
}

std::int64_t axis_of(const LayerWriter& layer) { return layer.integer("axis") + 1; }

void reshape(LayerWriter& layer) {
  if (layer.shape() == layer.output_shape()) return layer.gives_same(0);
  layer.gives_last(layer.add_reshape(layer.last(), layer.output_shape()));
}

// From channels first at once, where they lie so: one node instead of two.
void transpose(LayerWriter& layer) {
  const auto rank = static_cast<std::int64_t>(layer.shape().size());
  const bool is_first = layer.is_first();
  Integers order{0};
  for (const std::int64_t axis : axes_of(layer)) {
    const std::int64_t place_if_first = axis == rank ? 1 : axis + 1;
    order.push_back(is_first ? place_if_first : axis);
  }
  const std::string x = is_first ? layer.first() : layer.last();
  layer.gives_last(layer.add("Transpose", {x}, {{"perm", order}}));
}

void concat(LayerWriter& layer) {
  Texts inputs;
  bool is_any_first = false;
  for (std::size_t i = 0; i < layer.inputs(); ++i) is_any_first |= layer.is_first(i);
  const auto rank = static_cast<std::int64_t>(layer.output_shape().size());
  const std::int64_t axis = axis_of(layer);
  for (std::size_t i = 0; i < layer.inputs(); ++i) {
    inputs.push_back(is_any_first ? layer.first(i) : layer.last(i));
  }
  const std::int64_t place_if_first = axis == rank ? 1 : axis + 1;
  const std::string all =
      layer.add("Concat", std::move(inputs), {{"axis", is_any_first ? place_if_first : axis}});
  if (is_any_first) return layer.gives_first(all);
  layer.gives_last(all);
}

void slice(LayerWriter& layer) {
  const std::int64_t axis = axis_of(layer);
  const std::int64_t begin = layer.integer("begin");
  const std::int64_t size = layer.output_shape()[static_cast<std::size_t>(axis - 1)];
  GraphScribe& graph = layer.graph();
  layer.gives_last(layer.add("Slice", {layer.last(), graph.list({begin}),
                                       graph.list({begin + size}), graph.list({axis})}));
}

// Where a side is not written, nothing is put there.
void pad(LayerWriter& layer) {
  Integers pads;
  for (const std::string_view side : {"before", "after"}) {
    Integers counts = layer.integers(side);
    counts.resize(layer.shape().size(), 0);
    pads.push_back(0);
    pads.insert(pads.end(), counts.begin(), counts.end());
  }
  GraphScribe& graph = layer.graph();
  layer.gives_last(
      layer.add("Pad", {layer.last(), graph.list(pads), graph.scalar(layer.number("value"))}));
}

void reduce(LayerWriter& layer) {
  const std::string& kind = layer.text("kind");
  const Integers axes = axes_of(layer);
  const std::int64_t keeps = layer.flag("keep") ? 1 : 0;
  if (axes.empty()) return layer.gives_same(0);  // over no axis
  if (kind == "sum") {
    layer.gives_last(
        layer.add("ReduceSum", {layer.last(), layer.graph().list(axes)}, {{"keepdims", keeps}}));
    return;
  }
  layer.gives_last(layer.add(kind == "max" ? "ReduceMax" : "ReduceMean", {layer.last()},
                             {{"axes", axes}, {"keepdims", keeps}}));
}

}  // namespace

std::vector<OpWriter> layout_writers() {
  return {{"reshape", reshape}, {"flatten", reshape}, {"transpose", transpose}, {"concat", concat},
          {"slice", slice},     {"pad", pad},         {"reduce", reduce}};
}

}  // namespace trainyard::onnx
