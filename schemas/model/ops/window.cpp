#include "schemas/model/ops/window.h"

#include <algorithm>
#include <string>

#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

std::int64_t divided_up(std::int64_t number, std::int64_t by) { return (number + by - 1) / by; }

// "", or what makes the window wider than it is written, and the image.
std::string beside_text(const Pair& dilation, const Padded& height, const Padded& width) {
  std::string text;
  if (dilation != Pair{1, 1}) {
    text += ", dilated by " + by_text({dilation[0], dilation[1]});
  }
  if (height.before + height.after + width.before + width.after > 0) {
    text += ", with a padding of " + by_text({height.before, width.before});
  }
  return text;
}

}  // namespace

Padded pad_same(std::int64_t in, const Window& window) {
  if (!is_known(in)) return {};
  const std::int64_t outputs = divided_up(in, window.stride);
  const std::int64_t zeros =
      std::max<std::int64_t>((outputs - 1) * window.stride + window.reach() - in, 0);
  return {.before = zeros / 2, .after = zeros - zeros / 2, .outputs = outputs};
}

Padded pad_by(std::int64_t in, const Window& window, std::int64_t padding) {
  Padded padded{.before = padding, .after = padding};
  if (!is_known(in)) return padded;
  const std::int64_t room = in + 2 * padding - window.reach();
  padded.outputs = room < 0 ? 0 : room / window.stride + 1;
  return padded;
}

std::optional<Windows2d> windows_2d(LayerScribe& layer, std::string_view size_name,
                                    std::string_view noun) {
  Given& given = layer.given();
  const auto size = given.pair(size_name);
  // A pool moves by its own size, where nothing is said.
  const auto stride = given.is_known("stride") ? given.pair("stride") : size;
  const Pair dilation = given.pair("dilation").value_or(Pair{1, 1});
  const bool is_image = layer.has_rank(0, 3, 3, "[height, width, channels]");
  if (!size || !stride || !is_image || !given.is_known("padding")) return std::nullopt;

  const Sizes& image = *layer.shape(0);
  std::array<Padded, 2> axes;
  const auto padding = given.pair("padding");  // nothing: "same"
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const Window window{(*size)[axis], (*stride)[axis], dilation[axis]};
    axes[axis] =
        padding ? pad_by(image[axis], window, (*padding)[axis]) : pad_same(image[axis], window);
  }
  if (axes[0].outputs == 0 || axes[1].outputs == 0) {
    layer.fault(size_name, layer.op() + ": a " + std::string(noun) + " of " +
                               by_text({(*size)[0], (*size)[1]}) + " does not fit into the " +
                               by_text(image) + " that " + layer.input_name(0) + " gives" +
                               beside_text(dilation, axes[0], axes[1]));
    return std::nullopt;
  }
  given.set("stride", Value::List{(*stride)[0], (*stride)[1]});
  if (padding || (is_known(image[0]) && is_known(image[1]))) {
    given.set("padding", Value::List{axes[0].before, axes[0].after, axes[1].before, axes[1].after});
  }
  return Windows2d{.outputs = {axes[0].outputs, axes[1].outputs}, .sizes = *size};
}

}  // namespace trainyard::model
