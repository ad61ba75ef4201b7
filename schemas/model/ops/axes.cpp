#include "schemas/model/ops/axes.h"

#include <algorithm>
#include <string>

namespace trainyard::model {

std::optional<std::vector<std::size_t>> read_axes(LayerScribe& layer, std::string_view argument,
                                                  const Sizes& written, std::size_t rank) {
  std::vector<std::size_t> axes;
  for (const std::int64_t one : written) {
    const std::int64_t axis = one < 0 ? one + static_cast<std::int64_t>(rank) : one;
    if (axis < 0 || axis >= static_cast<std::int64_t>(rank)) {
      layer.fault(argument, "there is no axis " + std::to_string(one) + " in the " +
                                to_text(layer.shape(0)) + " that " + layer.input_name(0) +
                                " gives");
      return std::nullopt;
    }
    if (std::ranges::find(axes, static_cast<std::size_t>(axis)) != axes.end()) {
      layer.fault(argument, "names the axis " + std::to_string(axis) + " twice");
      return std::nullopt;
    }
    axes.push_back(static_cast<std::size_t>(axis));
  }
  return axes;
}

}  // namespace trainyard::model
