// Windows that move over an image or a sequence: what convolutions and pools have in common.
#pragma once

#include <optional>

#include "schemas/model/layer_scribe.h"

namespace trainyard::model {

// Along one axis.
struct Window {
  std::int64_t size = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;

  [[nodiscard]] std::int64_t reach() const { return dilation * (size - 1) + 1; }
};

struct Padded {
  std::int64_t before = 0;
  std::int64_t after = 0;
  std::int64_t outputs = unknown_size;  // places of the window; 0: it does not fit
};

// TensorFlow's "same": as many outputs as strides fit, the odd one of the padding at the end.
Padded pad_same(std::int64_t in, const Window& window);
// PyTorch's: as many zeros on both sides.
Padded pad_by(std::int64_t in, const Window& window, std::int64_t padding);

struct Windows2d {
  Pair outputs;  // places along height and width, unknown_size where they are not known
  Pair sizes;    // of the window
};

// Of [height, width, channels], by the arguments `size_name`, "stride", "dilation" and "padding",
// which become [height, width] and [top, bottom, left, right]. Nothing: a fault was noted, or
// sizes are not known. `noun`: "kernel", "window".
std::optional<Windows2d> windows_2d(LayerScribe& layer, std::string_view size_name,
                                    std::string_view noun);

}  // namespace trainyard::model
