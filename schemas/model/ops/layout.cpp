// Other places for the same numbers: reshape, flatten, transpose, concat, slice, pad.
#include <algorithm>
#include <numeric>

#include "schemas/model/ops/axes.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

constexpr double rank_limit = static_cast<double>(rank_max);

void reshape(LayerScribe& layer) {
  layer.costs().is_view();
  const auto written = layer.given().integers("shape");
  if (!written) return;
  const auto free = std::ranges::count(*written, std::int64_t{-1});
  if (free > 1) {
    layer.fault("shape", "may leave one size to be worked out (-1), not " + std::to_string(free));
    return;
  }
  if (std::ranges::find(*written, std::int64_t{0}) != written->end()) {
    layer.fault("shape", "has a size of 0");
    return;
  }
  Sizes sizes = *written;
  const Count all = elements(layer.shape(0));
  Sizes fixed = sizes;
  std::erase(fixed, -1);
  const Count part = elements(fixed);
  if (all && part) {
    std::string wanted = to_text(sizes);
    if (free == 1) wanted.replace(wanted.find('?'), 1, "-1");
    const bool fits = free == 1 ? *all % *part == 0 : *all == *part;
    if (!fits) {
      layer.fault("shape", "reshape: " + to_text(layer.shape(0)) + " of " + layer.input_name(0) +
                               " has " + with_commas(*all) + " numbers, which do not fill " +
                               wanted);
      return;
    }
    std::ranges::replace(sizes, std::int64_t{-1}, *all / *part);
  }
  layer.gives(std::move(sizes), layer.kind(0));
}

void flatten(LayerScribe& layer) {
  layer.costs().is_view();
  if (!layer.shape(0)) return;
  layer.gives(Sizes{size_or_unknown(elements(layer.shape(0)))}, layer.kind(0));
}

void transpose(LayerScribe& layer) {
  const auto written = layer.given().integers("axes");
  if (!written || !layer.shape(0)) return;
  const Sizes& shape = *layer.shape(0);
  if (written->size() != shape.size()) {
    layer.fault("axes", "must name all " + std::to_string(shape.size()) + " axes of the " +
                            to_text(shape) + " that " + layer.input_name(0) + " gives");
    return;
  }
  const auto axes = read_axes(layer, "axes", *written, shape.size());
  if (!axes) return;
  Sizes sizes;
  for (const std::size_t axis : *axes) sizes.push_back(shape[axis]);
  layer.gives(std::move(sizes), layer.kind(0));
}

// The axis of an argument; nothing: it is at fault or the shape is not known.
std::optional<std::size_t> read_axis(LayerScribe& layer) {
  const Count written = layer.given().integer("axis");
  if (!written || !layer.shape(0)) return std::nullopt;
  const auto axes = read_axes(layer, "axis", {*written}, layer.shape(0)->size());
  if (!axes) return std::nullopt;
  layer.given().set("axis", static_cast<std::int64_t>(axes->front()));
  return axes->front();
}

// Of one input beside the others: the size along the axis is free, all else is the same.
bool goes_beside(const Sizes& sum, const Sizes& next, std::size_t axis) {
  if (sum.size() != next.size()) return false;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (i != axis && !may_be_equal(sum[i], next[i])) return false;
  }
  return true;
}

void concat(LayerScribe& layer) {
  for (std::size_t i = 0; i < layer.in().size(); ++i) {
    if (!layer.shape(i)) return;
  }
  const auto axis = read_axis(layer);
  if (!axis) return;
  Sizes sum = *layer.shape(0);
  for (std::size_t i = 1; i < layer.in().size(); ++i) {
    const Sizes& next = *layer.shape(i);
    if (!goes_beside(sum, next, *axis)) {
      layer.fault("", "concat: " + to_text(next) + " of " + layer.input_name(i) +
                          " does not go beside " + to_text(*layer.shape(0)) + " of " +
                          layer.input_name(0) + ": all sizes but that of axis " +
                          std::to_string(*axis) + " are to be the same");
      return;
    }
    for (std::size_t j = 0; j < sum.size(); ++j) {
      sum[j] = j == *axis ? size_or_unknown(plus(known(sum[j]), known(next[j])))
                          : merged_size(sum[j], next[j]);
    }
  }
  layer.gives(std::move(sum));
}

// From "begin", as many as "size" along the axis; without a size all that follow.
void slice(LayerScribe& layer) {
  const auto axis = read_axis(layer);
  const Count begin = layer.given().integer("begin");
  if (!axis || !begin) return;
  Sizes sizes = *layer.shape(0);
  const Count all = known(sizes[*axis]);
  const Count rest = all ? Count(*all - *begin) : std::nullopt;
  if (rest && *rest <= 0) {
    layer.fault("begin", "slice: there are " + std::to_string(*all) + " along axis " +
                             std::to_string(*axis) + " of " + layer.input_name(0) +
                             ", and it begins at " + std::to_string(*begin));
    return;
  }
  const Count size = names_argument(layer, "size") ? layer.given().integer("size") : rest;
  if (size && rest && *size > *rest) {
    layer.fault("size", "slice: of the " + std::to_string(*all) + " along axis " +
                            std::to_string(*axis) + " of " + layer.input_name(0) + " there are " +
                            std::to_string(*rest) + " from " + std::to_string(*begin) +
                            " on, not " + std::to_string(*size));
    return;
  }
  if (size) layer.given().set("size", *size);
  sizes[*axis] = size_or_unknown(size);
  layer.gives(std::move(sizes), layer.kind(0));
}

// "before" and "after": for each axis, how many.
void pad(LayerScribe& layer) {
  if (!layer.shape(0)) return;
  Sizes sizes = *layer.shape(0);
  for (const std::string_view side : {"before", "after"}) {
    const auto counts = layer.given().integers(side);
    if (!counts && names_argument(layer, side)) return;  // at fault
    if (counts && counts->size() != sizes.size()) {
      layer.fault(side, "must have a number for each of the " + std::to_string(sizes.size()) +
                            " axes of the " + to_text(*layer.shape(0)) + " that " +
                            layer.input_name(0) + " gives");
      return;
    }
    for (std::size_t axis = 0; counts && axis < sizes.size(); ++axis) {
      sizes[axis] = size_or_unknown(plus(known(sizes[axis]), (*counts)[axis]));
    }
  }
  layer.gives(std::move(sizes));
}

ArgumentRule counts_rule(std::string_view name) {
  return {.name = name, .type = ArgumentType::integers, .least = 0, .most = window_max};
}

}  // namespace

std::vector<OpRule> layout_ops() {
  const ArgumentRule axis =
      integer_or("axis", -1, -static_cast<std::int64_t>(rank_max), rank_max - 1);
  return {
      {.name = "reshape",
       .arguments = {{.name = "shape",
                      .type = ArgumentType::integers,
                      .is_required = true,
                      .least = -1,
                      .most = static_cast<double>(size_max)}},
       .infer = reshape,
       .reads_ids = true},
      {.name = "flatten", .infer = flatten, .reads_ids = true},
      {.name = "transpose",
       .arguments = {{.name = "axes",
                      .type = ArgumentType::integers,
                      .is_required = true,
                      .least = -rank_limit,
                      .most = rank_limit - 1}},
       .infer = transpose,
       .reads_ids = true},
      {.name = "concat",
       .inputs_least = 1,
       .inputs_most = inputs_of_layer_max,
       .arguments = {axis},
       .infer = concat},
      {.name = "slice",
       .arguments = {axis, integer_or("begin", 0, 0, size_max), optional_size("size")},
       .infer = slice,
       .reads_ids = true},
      {.name = "pad",
       .arguments = {counts_rule("before"), counts_rule("after"),
                     number_or("value", 0, -3.4e38, 3.4e38)},
       .infer = pad},
  };
}

}  // namespace trainyard::model
