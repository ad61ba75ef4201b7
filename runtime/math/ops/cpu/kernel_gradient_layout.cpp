#include "runtime/math/ops/cpu/kernel_gradient_layout.h"

#include <algorithm>

#include "runtime/math/ops/cpu/gemm.h"
#include "runtime/math/ops/cpu/gemm_pack.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t panel_columns_max = 32;

// Whole lines of the cache, and with the taps of a kernel's row whole tiles.
std::int64_t channels_of_a_strip(const Conv2d& conv) {
  const std::int64_t wanted = conv.window.width.kernel % 3 == 0 ? 16 : 48;
  return std::min(conv.channels, wanted);
}

// Where a tile has at least so many rows, of which two are a group at least.
std::int64_t tiles_at_most(const Conv2d& conv, std::int64_t channels) {
  constexpr std::int64_t fewest_rows = 6;
  const std::int64_t rows = conv.window.width.kernel * (channels + channels % 2);
  return conv.window.height.kernel * ((rows + fewest_rows - 1) / fewest_rows);
}

}  // namespace

GradientBlocks gradient_blocks_of(const Window& window) {
  const std::int64_t width = window.width.outputs();
  if (width > gemm_depth_block) return {.rows = 1, .pixels = depth_block_of(width)};
  const std::int64_t most = gemm_depth_block / width;
  const std::int64_t rows = window.height.outputs();
  const std::int64_t blocks = (rows + most - 1) / most;
  return {.rows = (rows + blocks - 1) / blocks, .pixels = width};
}

std::int64_t padding_read(const WindowAxis& axis) {
  const std::int64_t end = axis.first_of(axis.outputs() - 1) + axis.reach();
  return std::max<std::int64_t>(0, end - axis.pixels);
}

GradientLayout layout_of_gradient(const Conv2d& conv, Scratch& scratch) {
  const WindowAxis& height = conv.window.height;
  const WindowAxis& width = conv.window.width;
  GradientLayout layout;
  layout.joins_rows = width.kernel * conv.channels < gradient_tile_rows;
  layout.channels = channels_of_a_strip(conv);
  layout.pitch = (width.before + width.pixels + padding_read(width)) * layout.channels;
  layout.strip = strip_size(
      {.outputs = height.outputs(),
       .width = width.outputs(),
       .unit = gradient_blocks_of(conv.window).rows,
       .stride = height.stride,
       .reach = height.reach(),
       .source_rows =
           layout.joins_rows ? height.pixels + height.before + padding_read(height) : height.pixels,
       .pitch = layout.pitch});
  const std::int64_t slack = 16;  // a group's rows may lie beyond the last tap's channels
  layout.image =
      scratch.take<float>(layout.strip.images * layout.strip.source_rows * layout.pitch + slack);
  const std::int64_t pixels = layout.strip.images * layout.strip.rows * width.outputs();
  const std::int64_t columns =
      (conv.filters + panel_columns_max - 1) / panel_columns_max * panel_columns_max;
  layout.panels = scratch.take<float>(pixels * columns + pack_slack);
  layout.offsets = scratch.take<std::int64_t>(pixels);
  const std::int64_t tiles = tiles_at_most(conv, layout.channels);
  layout.tiles = scratch.take<GradientTile>(tiles);
  layout.sums = scratch.take<float>(tiles * gradient_tile_rows * panel_columns_max);
  return layout;
}

}  // namespace trainyard::runtime
