// Axes as they are written: from 0, or from the last with -1.
#pragma once

#include <optional>
#include <vector>

#include "schemas/model/layer_scribe.h"

namespace trainyard::model {

// Notes a fault at the argument and returns nothing where one is outside, or there twice.
std::optional<std::vector<std::size_t>> read_axes(LayerScribe& layer, std::string_view argument,
                                                  const Sizes& written, std::size_t rank);

}  // namespace trainyard::model
