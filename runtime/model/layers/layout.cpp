// Other places for the same numbers, and reductions over axes.
#include "runtime/model/layers/builders.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// An axis is a number of one example's, 0 or more by now; what was written may count from the last.
AxisNumbers axes_of(const LayerContext& layer) {
  const auto rank = static_cast<std::int64_t>(layer.shape(layer.x()).rank());
  AxisNumbers axes;
  for (const std::int64_t axis : layer.integers("axes")) axes.append(axis < 0 ? axis + rank : axis);
  return axes;
}

std::size_t axis_of(const LayerContext& layer) {
  const std::int64_t axis = layer.integer("axis");
  ENSURE(axis >= 0);
  return static_cast<std::size_t>(axis);
}

NodeId input(LayerContext& layer) {
  if (layer.layer().kind == model::ElementKind::sparse) {
    return layer.graph().add_sparse_features((*layer.layer().shape)[0]);
  }
  if (layer.layer().kind == model::ElementKind::id) {
    return layer.graph().add_ids(layer.output_shape(), layer.id_field());
  }
  const Shape shape = layer.output_shape();
  const auto [before, all] = layer.numbers();
  if (shape.elements() == all) return layer.graph().add_features(shape);
  const NodeId features = layer.graph().add_features({all});
  const SliceOp part{.axis = 0, .begin = before, .size = shape.elements()};
  return layer.reshaped(layer.add(part, {features}), shape);
}

NodeId reshape(LayerContext& layer) { return layer.reshaped(layer.x(), layer.output_shape()); }

NodeId transpose(LayerContext& layer) { return layer.add(TransposeOp{axes_of(layer)}); }

NodeId concat(LayerContext& layer) { return layer.add(ConcatOp{axis_of(layer)}); }

NodeId slice(LayerContext& layer) {
  const std::size_t axis = axis_of(layer);
  return layer.add(
      SliceOp{.axis = axis, .begin = layer.integer("begin"), .size = layer.output_shape()[axis]});
}

// Where a side is not written, nothing is put there.
AxisNumbers counts(const LayerContext& layer, std::string_view side) {
  const std::vector<std::int64_t> written = layer.integers(side);
  AxisNumbers counts;
  for (std::size_t axis = 0; axis < layer.shape(layer.x()).rank(); ++axis) {
    counts.append(written.empty() ? 0 : written[axis]);
  }
  return counts;
}

NodeId pad(LayerContext& layer) {
  return layer.add(PadOp{.before = counts(layer, "before"),
                         .after = counts(layer, "after"),
                         .value = static_cast<float>(layer.number("value"))});
}

NodeId reduce(LayerContext& layer) {
  const std::string& kind = layer.text("kind");
  return layer.add(ReduceOp{.kind = kind == "max"    ? Reduction::max
                                    : kind == "mean" ? Reduction::mean
                                                     : Reduction::sum,
                            .axes = axes_of(layer),
                            .keeps_axes = layer.flag("keep")});
}

}  // namespace

std::vector<LayerBuilder> layout_builders() {
  return {{"input", input},   {"reshape", reshape}, {"flatten", reshape}, {"transpose", transpose},
          {"concat", concat}, {"slice", slice},     {"pad", pad},         {"reduce", reduce}};
}

}  // namespace trainyard::runtime
