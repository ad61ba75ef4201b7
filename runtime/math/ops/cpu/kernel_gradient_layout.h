// What the gradient of a convolution's kernel (conv_kernel_gradient.cpp) has in scratch.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/math/ops/conv.h"
#include "runtime/math/ops/cpu/image_strip.h"
#include "runtime/math/ops/cpu/tap_tile.h"
#include "runtime/math/ops/scratch.h"

namespace trainyard::runtime {

// The output pixels of an image that are a block of the depth.
struct GradientBlocks {
  std::int64_t rows = 1;    // whole output rows of a block
  std::int64_t pixels = 0;  // of a row at most: less than it has where a row is cut
};

// At most gemm_depth_block pixels, evenly divided. Numbers are part of results.
GradientBlocks gradient_blocks_of(const Window& window);

struct GradientTile {
  std::int64_t kernel_row = 0;  // of those that it has the first
  TapTile tile;
  TapTarget sums;
  // By group: its first row in the gradient, and how many it has there.
  std::int64_t row[tile_groups_max] = {};
  std::int64_t count[tile_groups_max] = {};
};

struct GradientLayout {
  bool joins_rows = false;    // a tile has several rows of the kernel
  std::int64_t channels = 0;  // of a slice, which is in the strip: floats from a pixel to the next
  std::int64_t pitch = 0;     // and from a row to the next
  StripSize strip;
  std::span<float> image;
  std::span<float> panels;          // of the strip's part of the output's gradient
  std::span<std::int64_t> offsets;  // by pixel of the strip: where its first tap reads
  std::span<GradientTile> tiles;    // of a panel and a slice
  std::span<float> sums;            // of these, tile after tile
};

inline constexpr std::int64_t gradient_tile_rows = 12;  // of the highest tile

GradientLayout layout_of_gradient(const Conv2d& conv, Scratch& scratch);

// Pixels of padding after the image that some output reads.
std::int64_t padding_read(const WindowAxis& axis);

}  // namespace trainyard::runtime
