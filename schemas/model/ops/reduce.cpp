// Sums, means and largest values over axes.
#include <algorithm>

#include "schemas/model/layer_scribe.h"
#include "schemas/model/ops/axes.h"

namespace trainyard::model {
namespace {

void reduce(LayerScribe& layer) {
  const MaybeShape& shape = layer.shape(0);
  if (!shape) return;
  std::vector<std::size_t> axes;
  if (const auto given = layer.given().integers("axes")) {
    const auto read = read_axes(layer, "axes", *given, shape->size());
    if (!read) return;
    axes = *read;
  } else if (names_argument(layer, "axes")) {
    return;  // at fault
  } else {
    for (std::size_t axis = 0; axis < shape->size(); ++axis) axes.push_back(axis);
  }
  Value::List spelled;
  for (const std::size_t axis : axes) spelled.emplace_back(static_cast<std::int64_t>(axis));
  Sizes sizes;
  for (std::size_t axis = 0; axis < shape->size(); ++axis) {
    const bool is_reduced = std::ranges::find(axes, axis) != axes.end();
    if (!is_reduced) sizes.push_back((*shape)[axis]);
    if (is_reduced && layer.given().flag("keep")) sizes.push_back(1);
  }
  layer.given().set("axes", std::move(spelled));
  layer.gives(std::move(sizes));
  // The place of the largest.
  if (layer.given().text("kind") == "max") {
    layer.costs().keeps_bytes(times(4, elements(layer.given_shape())));
  }
}

}  // namespace

std::vector<OpRule> reduce_ops() {
  return {{.name = "reduce",
           .arguments = {choice_or("kind", "sum", {"sum", "mean", "max"}),
                         {.name = "axes",
                          .type = ArgumentType::axes,
                          .least = -static_cast<double>(rank_max),
                          .most = static_cast<double>(rank_max) - 1},
                         flag_or("keep", false)},
           .infer = reduce}};
}

}  // namespace trainyard::model
