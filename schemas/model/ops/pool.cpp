// Pools: the largest or the mean of each window.
#include "schemas/model/ops/window.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

// Where more than half of a window may be padding, a window may be nothing else.
bool pads_at_most_half(LayerScribe& layer) {
  const auto size = layer.given().pair("size");
  const auto padding = layer.given().pair("padding");
  if (!size || !padding) return true;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if ((*padding)[axis] * 2 <= (*size)[axis]) continue;
    layer.fault("padding",
                layer.op() + ": a padding of " + by_text({(*padding)[0], (*padding)[1]}) +
                    " is more than half of the window of " + by_text({(*size)[0], (*size)[1]}));
    return false;
  }
  return true;
}

// [height, width, channels] -> [height', width', channels]
void pool(LayerScribe& layer) {
  if (!pads_at_most_half(layer)) return;
  const auto windows = windows_2d(layer, "size", "window");
  if (!windows) return;
  layer.gives(Sizes{windows->outputs[0], windows->outputs[1], layer.last_size(0)});
}

void max_pool2d(LayerScribe& layer) {
  pool(layer);
  layer.costs().keeps_bytes(
      elements(layer.given_shape()));  // which of the window it was: a byte each
}

// [height, width, channels] -> [channels]
void global_avg_pool(LayerScribe& layer) {
  if (layer.has_rank(0, 2, rank_max, "[.., channels]")) layer.gives(Sizes{layer.last_size(0)});
}

}  // namespace

std::vector<OpRule> pool_ops() {
  ArgumentRule stride = pair_or("stride", 1);
  stride.standard = "";  // that of the window
  const ArgumentRules arguments{pair_or("size", ""), stride, padding_rule()};
  return {{.name = "max_pool2d", .arguments = arguments, .infer = max_pool2d},
          {.name = "avg_pool2d", .arguments = arguments, .infer = pool},
          {.name = "global_avg_pool", .infer = global_avg_pool}};
}

}  // namespace trainyard::model
