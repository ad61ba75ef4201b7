#include "runtime/math/ops/cpu/kernel_gradient_layout.h"

#include <algorithm>

#include "runtime/math/ops/cpu/gemm.h"
#include "runtime/math/ops/cpu/gemm_pack.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t panel_columns_max = 32;

// Whole lines of the cache, and with the taps of a kernel's row whole tiles: 16 channels of a
// kernel of 3 columns are 48 rows, as are 48 of one column, which no tile of 6 or 12 leaves a part
// of.
std::int64_t channels_of_a_slice(const Conv2d& conv) {
  const std::int64_t width = conv.window.width.kernel;
  const bool has_many_rows = width % 3 == 0 || width > 8;
  return std::min<std::int64_t>(conv.channels, has_many_rows ? 16 : 48);
}

constexpr std::int64_t round_up(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit * unit;
}

// Rows of all tiles of a slice, where groups of a tap's rows have `height`.
std::int64_t rows_at_most(const Conv2d& conv, std::int64_t channels, std::int64_t height,
                          std::int64_t tile_rows) {
  const std::int64_t of_a_row = conv.window.width.kernel * round_up(channels, height);
  return conv.window.height.kernel * round_up(of_a_row, tile_rows);
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
  layout.channels = channels_of_a_slice(conv);
  layout.pitch = (width.before + width.pixels + padding_read(width)) * layout.channels;
  const std::int64_t columns =
      (conv.filters + panel_columns_max - 1) / panel_columns_max * panel_columns_max;
  layout.strip = strip_size(
      {.outputs = height.outputs(),
       .width = width.outputs(),
       .unit = gradient_blocks_of(conv.window).rows,
       .stride = height.stride,
       .reach = height.reach(),
       .source_rows =
           layout.joins_rows ? height.pixels + height.before + padding_read(height) : height.pixels,
       .pitch = layout.pitch,
       .pixel_floats = columns});
  const std::int64_t slack = 16;  // a group's rows may lie beyond the last tap's channels
  layout.image =
      scratch.take<float>(layout.strip.images * layout.strip.source_rows * layout.pitch + slack);
  const std::int64_t pixels = layout.strip.images * layout.strip.rows * width.outputs();
  layout.panels = scratch.take<float>(pixels * columns + pack_slack);
  layout.offsets = scratch.take<std::int64_t>(pixels);
  using Lowest = Avx2TapTile;  // of all tiles, and with the least groups
  constexpr std::int64_t lowest_rows = Lowest::height * Lowest::groups;
  layout.tiles = scratch.take<GradientTile>(
      rows_at_most(conv, layout.channels, Lowest::height, lowest_rows) / lowest_rows);
  constexpr std::int64_t highest_group = 4;
  layout.sums = scratch.take<float>(
      rows_at_most(conv, layout.channels, highest_group, gradient_tile_rows) * panel_columns_max);
  return layout;
}

}  // namespace trainyard::runtime
