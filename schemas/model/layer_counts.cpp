#include "schemas/model/layer_counts.h"

#include <algorithm>

#include "schemas/model/shape.h"

namespace trainyard::model {

std::int64_t LayerCounts::least(const Layers& layers) {
  const auto [counted, is_new] = counted_.emplace(&layers, 0);
  if (!is_new) return counted->second;
  std::int64_t sum = layers.empty() ? 1 : 0;  // a fault, and a step of the walk
  for (const Layer& layer : layers) sum = std::min(sum + least(layer), count_max);
  counted_[&layers] = sum;
  return sum;
}

std::int64_t LayerCounts::least(const Layer& layer) {
  if (const auto* repeat = std::get_if<RepeatLayer>(&layer.what)) {
    const double* number = repeat->times.number();
    const bool is_right = number != nullptr && *number >= 1 && *number <= repeat_max;
    return *times(is_right ? static_cast<std::int64_t>(*number) : 1, least(repeat->layers));
  }
  if (const auto* residual = std::get_if<ResidualLayer>(&layer.what)) {
    return *plus(1, plus(least(residual->layers), least(residual->shortcut)));
  }
  return 1;
}

}  // namespace trainyard::model
