// The gradient of a convolution's kernel: row (kernel row, kernel column, channel) of it is a sum
// over output pixels of what that tap read, times the output's gradient.
//
// As in correlation.cpp a strip of x lies in scratch with its padding to the left and right; here
// the depth walks over the strip's output pixels, and the tile's rows over taps and channels. The
// output's gradient is packed. Sums of a block are added to the gradient, which stays in the first
// cache while the strip's blocks pass by.
#include <algorithm>
#include <array>

#include "runtime/math/ops/cpu/conv.h"
#include "runtime/math/ops/cpu/gemm_pack.h"
#include "runtime/math/ops/cpu/image_strip.h"
#include "runtime/math/ops/cpu/tap_tile.h"

namespace trainyard::runtime {
namespace {

struct Blocks {
  std::int64_t rows = 1;    // whole output rows of a block
  std::int64_t pixels = 0;  // of a row at most: less than it has where a row is cut
};

// At most gemm_depth_block pixels, evenly divided. Numbers are part of results.
Blocks blocks_of(const Window& window) {
  const std::int64_t width = window.width.outputs();
  if (width > gemm_depth_block) return {.rows = 1, .pixels = depth_block_of(width)};
  const std::int64_t most = gemm_depth_block / width;
  const std::int64_t rows = window.height.outputs();
  const std::int64_t blocks = (rows + most - 1) / most;
  return {.rows = (rows + blocks - 1) / blocks, .pixels = width};
}

struct GradientLayout {
  bool joins_rows = false;  // a tile has several rows of the kernel
  std::int64_t pixel = 0;   // floats from a pixel of the strip to the next
  std::int64_t pitch = 0;   // and of a row
  StripSize strip;
  std::span<float> image;
  std::span<float> panels;          // of the strip's part of the output's gradient
  std::span<std::int64_t> offsets;  // by pixel of the strip: where its first tap reads
};

constexpr std::int64_t panel_columns_max = 32;
constexpr std::int64_t tile_rows = 12;  // of the highest tile

// Pixels of padding after the image that some output reads.
std::int64_t padding_read(const WindowAxis& axis) {
  const std::int64_t end = axis.first_of(axis.outputs() - 1) + axis.reach();
  return std::max<std::int64_t>(0, end - axis.pixels);
}

GradientLayout layout_of_gradient(const Conv2d& conv, Scratch& scratch) {
  const WindowAxis& height = conv.window.height;
  const WindowAxis& width = conv.window.width;
  GradientLayout layout;
  layout.joins_rows = width.kernel * conv.channels < tile_rows;
  layout.pixel = spread_of(conv.channels);
  layout.pitch = (width.before + width.pixels + padding_read(width)) * layout.pixel;
  layout.strip = strip_size(
      {.outputs = height.outputs(),
       .width = width.outputs(),
       .unit = blocks_of(conv.window).rows,
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
  return layout;
}

template <class Tile>
class KernelGradient {
 public:
  KernelGradient(const Conv2d& conv, const ConvKernelGradient& call, Scratch scratch)
      : conv_(conv), call_(call), layout_(layout_of_gradient(conv, scratch)) {}

  // Tiles of the gradient: panel of columns after panel.
  [[nodiscard]] std::int64_t tiles() const { return panels() * tiles_of_a_panel(); }

  // Those from `first` to `end` - 1. Blocks are always added: so it makes no difference where a
  // batch is divided.
  void run(std::int64_t first, std::int64_t end) {
    first_tile_ = first;
    end_tile_ = end;
    const StripSize& strip = layout_.strip;
    const std::int64_t examples = call_.x.shape[0];
    for (std::int64_t example = 0; example < examples; example += strip.images) {
      images_ = std::min(strip.images, examples - example);
      for (row_ = 0; row_ < height_.outputs(); row_ += strip.rows) {
        rows_ = std::min(strip.rows, height_.outputs() - row_);
        source_row_ = height_.first_of(row_);
        if (!layout_.joins_rows) {
          source_row_ = std::clamp<std::int64_t>(source_row_, 0, height_.pixels);
        }
        copy_strip(example);
        pack_panels(example);
        write_offsets();
        multiply_strip();
      }
    }
  }

 private:
  // Rows of padding are in the strip only where a tile has several rows of the kernel, which read
  // different ones of them.
  void copy_strip(std::int64_t example) {
    const std::int64_t last = height_.first_of(row_ + rows_ - 1) + height_.reach();
    const std::int64_t end =
        layout_.joins_rows ? last : std::clamp(last, source_row_, height_.pixels);
    const RowCopy copy{.pixels = width_.pixels,
                       .channels = conv_.channels,
                       .before = width_.before,
                       .after = padding_read(width_)};
    for (std::int64_t image = 0; image < images_; ++image) {
      float* to = layout_.image.data() + image * layout_.strip.source_rows * layout_.pitch;
      for (std::int64_t row = source_row_; row < end; ++row, to += layout_.pitch) {
        if (row < 0 || row >= height_.pixels) {
          std::fill_n(to, layout_.pitch, 0.0F);
        } else {
          copy_padded(call_.x.data + ((example + image) * height_.pixels + row) * width_.pixels *
                                         conv_.channels,
                      copy, to);
        }
      }
    }
  }

  [[nodiscard]] std::int64_t panels() const {
    return (conv_.filters + Tile::columns - 1) / Tile::columns;
  }
  [[nodiscard]] std::int64_t tiles_of_a_panel() const {
    const Runs runs = runs_of_a_row();
    const std::int64_t groups = runs.count * ((runs.floats + Tile::height - 1) / Tile::height);
    const auto tiles_for = [](std::int64_t count) {
      return (count + Tile::groups - 1) / Tile::groups;
    };
    return layout_.joins_rows ? tiles_for(height_.kernel * groups)
                              : height_.kernel * tiles_for(groups);
  }
  // Calls visit(first column) for each panel of which some tiles are asked for.
  template <class Visit>
  void for_each_panel(Visit visit) const {
    const std::int64_t each = tiles_of_a_panel();
    for (std::int64_t panel = first_tile_ / each; panel * each < end_tile_; ++panel) {
      visit(panel * Tile::columns);
    }
  }

  // Of several images all rows are in the strip: their pixels follow one another.
  void pack_panels(std::int64_t example) {
    const std::int64_t pixels = images_ * rows_ * width_.outputs();
    const float* const from = call_.y_gradient.data + (example * height_.outputs() + row_) *
                                                          width_.outputs() * conv_.filters;
    for_each_panel([&](std::int64_t column) {
      const std::int64_t count = std::min(Tile::columns, conv_.filters - column);
      pack({.from = from + column,
            .across = 1,
            .along = conv_.filters,
            .count = count,
            .depth = pixels},
           Tile::width_of(count), layout_.panels.data() + column * pixels);
    });
  }

  // Those of the strip before are right, too, where it began at the same row.
  void write_offsets() {
    if (row_ == offsets_row_ && rows_ == offsets_rows_ && images_ <= offsets_images_) return;
    offsets_row_ = row_;
    offsets_rows_ = rows_;
    offsets_images_ = images_;
    std::size_t at = 0;
    for (std::int64_t image = 0; image < images_; ++image) {
      for (std::int64_t row = row_; row < row_ + rows_; ++row) {
        const std::int64_t source_row =
            image * layout_.strip.source_rows + height_.first_of(row) - source_row_;
        for (std::int64_t pixel = 0; pixel < width_.outputs(); ++pixel) {
          const std::int64_t source_pixel = width_.first_of(pixel) + width_.before;
          layout_.offsets[at++] = source_row * layout_.pitch + source_pixel * layout_.pixel;
        }
      }
    }
  }

  // Rows of the gradient that follow one another in the strip, too: taps side by side, unless they
  // are dilated or spread.
  struct Runs {
    std::int64_t count = 1;
    std::int64_t floats = 0;  // of each
  };
  [[nodiscard]] Runs runs_of_a_row() const {
    const bool joined = width_.dilation == 1 && layout_.pixel == conv_.channels;
    if (joined) return {.floats = width_.kernel * conv_.channels};
    return {.count = width_.kernel, .floats = conv_.channels};
  }

  void multiply_strip() {
    const auto [runs, run_floats] = runs_of_a_row();
    next_tile_ = first_tile_ / tiles_of_a_panel() * tiles_of_a_panel();
    for_each_panel([&, runs = runs, run_floats = run_floats](std::int64_t column) {
      TileOf tile{.column = column};
      for (std::int64_t row = 0; row < height_.kernel; ++row) {
        for (std::int64_t run = 0; run < runs; ++run) {
          const std::int64_t source =
              row * height_.dilation * layout_.pitch + run * width_.dilation * layout_.pixel;
          const std::int64_t target = (row * width_.kernel + run) * conv_.channels;
          for (std::int64_t at = 0; at < run_floats; at += Tile::height) {
            tile.group[static_cast<std::size_t>(tile.groups++)] = {
                source + at, target + at, std::min(Tile::height, run_floats - at)};
            if (tile.groups == Tile::groups) multiply_tile(tile, row);
          }
        }
        if (!layout_.joins_rows) multiply_tile(tile, row);
      }
      multiply_tile(tile, 0);
    });
  }

  struct RowGroup {
    std::int64_t source = 0;  // in the strip, from a pixel's first tap
    std::int64_t target = 0;  // row of the gradient
    std::int64_t rows = 0;
  };
  struct TileOf {
    std::int64_t column = 0;
    std::int64_t groups = 0;
    std::array<RowGroup, tile_groups_max> group = {};
  };

  // Leaves the tile empty. Others are asked for some of the tiles.
  void multiply_tile(TileOf& of, std::int64_t kernel_row) {
    if (of.groups == 0) return;
    const std::int64_t number = next_tile_++;
    if (number < first_tile_ || number >= end_tile_) {
      of.groups = 0;
      return;
    }
    const std::int64_t columns = std::min(Tile::columns, conv_.filters - of.column);
    TapTile tile{.groups = of.groups, .row_stride = 1};
    TapTarget target{.row_stride = conv_.filters, .columns = columns, .base = Base::target};
    for (std::size_t i = 0; i < static_cast<std::size_t>(of.groups); ++i) {
      tile.group[i] = layout_.image.data() + of.group[i].source;
      target.group[i] = call_.kernel_gradient.data + of.group[i].target * conv_.filters + of.column;
      target.count[i] = of.group[i].rows;
    }
    of.groups = 0;
    const std::int64_t pixels = images_ * rows_ * width_.outputs();
    const float* const panel = layout_.panels.data() + of.column * pixels;
    const std::int64_t panel_width = Tile::width_of(columns);
    for_each_block(kernel_row, [&](std::int64_t begin, std::int64_t end) {
      tile.offsets = layout_.offsets.data() + begin;
      tile.depth = end - begin;
      tile.right = panel + begin * panel_width;
      Tile::multiply(tile, target);
    });
  }

  // Calls visit(first pixel, last pixel + 1) of the strip for each block, unless a tile has several
  // rows of the kernel without the output rows for which this one lies in the padding. (A product
  // with zero changes no sum that began at zero.)
  template <class Visit>
  void for_each_block(std::int64_t kernel_row, Visit visit) const {
    const Blocks blocks = blocks_of(conv_.window);
    const std::int64_t width = width_.outputs();
    for (std::int64_t image = 0; image < images_; ++image) {
      for (std::int64_t row = row_; row < row_ + rows_; row += blocks.rows) {
        std::int64_t first = row;
        std::int64_t end = std::min(row + blocks.rows, height_.outputs());
        if (!layout_.joins_rows) {
          while (first < end && kernel_row < height_.first_tap(first)) ++first;
          while (first < end && kernel_row >= height_.last_tap(end - 1)) --end;
        }
        const std::int64_t pixel = (image * rows_ + first - row_) * width;
        const std::int64_t all = (end - first) * width;
        const std::int64_t step = blocks.rows * blocks.pixels;
        for (std::int64_t at = 0; at < all; at += step) {
          visit(pixel + at, pixel + std::min(at + step, all));
        }
      }
    }
  }

  const Conv2d& conv_;
  const ConvKernelGradient& call_;
  const WindowAxis& height_ = conv_.window.height;
  const WindowAxis& width_ = conv_.window.width;
  GradientLayout layout_;
  std::int64_t images_ = 0;  // of the strip
  std::int64_t row_ = 0;     // its first row of output
  std::int64_t rows_ = 0;
  std::int64_t source_row_ = 0;
  std::int64_t offsets_row_ = -1;  // of the strip for which the offsets are written
  std::int64_t offsets_rows_ = 0;
  std::int64_t offsets_images_ = 0;
  std::int64_t first_tile_ = 0;
  std::int64_t end_tile_ = 0;
  std::int64_t next_tile_ = 0;  // of the strip
};

// Each thread copies and packs all strips, in a place of its own, for its share of the tiles.
template <class Tile>
void divide_kernel_gradient(const Conv2d& conv, const ConvKernelGradient& call, Scratch scratch) {
  if (call.write == Write::overwrite) std::ranges::fill(call.kernel_gradient.span(), 0.0F);
  const std::size_t each = kernel_gradient_scratch_bytes(conv, 1);
  const auto members = call.threads.count();
  const auto memory = scratch.take<std::byte>(members * static_cast<std::int64_t>(each));
  const auto place_of = [&](std::int64_t member) {
    return Scratch(memory.subspan(static_cast<std::size_t>(member) * each, each));
  };
  const std::int64_t tiles = KernelGradient<Tile>(conv, call, place_of(0)).tiles();
  const std::int64_t sums = call.kernel_gradient.elements();
  const double work = gemm_nanoseconds(static_cast<double>(sums * call.y_gradient.shape.rows()));
  const std::int64_t parts = std::min(tiles, call.threads.parts_of(work));
  call.threads.run(parts, [&](std::int64_t part, std::int64_t member) {
    KernelGradient<Tile>(conv, call, place_of(member))
        .run(tiles * part / parts, tiles * (part + 1) / parts);
  });
}

}  // namespace

std::size_t kernel_gradient_scratch_bytes(const Conv2d& conv, std::int64_t threads) {
  Scratch counted;
  layout_of_gradient(conv, counted);
  return static_cast<std::size_t>(threads) * counted.used_bytes();
}

void conv2d_kernel_gradient(const Conv2d& conv, const ConvKernelGradient& call, Scratch scratch,
                            GemmKernel kernel) {
  if (kernel == GemmKernel::avx2) {
    divide_kernel_gradient<Avx2TapTile>(conv, call, scratch);
  } else if (conv.channels % 4 == 0 || conv.window.width.kernel * conv.channels > 2 * tile_rows) {
    divide_kernel_gradient<Avx512TapTile<4>>(conv, call, scratch);
  } else {
    divide_kernel_gradient<Avx512TapTile<2>>(conv, call, scratch);
  }
}

}  // namespace trainyard::runtime
