// The gradient of a convolution's kernel: row (kernel row, kernel column, channel) of it is a sum
// over output pixels of what that tap read, times the output's gradient.
//
// As in correlation.cpp a strip of x lies in scratch with its padding to the left and right, but of
// a slice of the channels alone, so that a tile's rows, which are taps and channels, fill the lines
// of the cache that they read; the depth walks over the strip's output pixels. The output's
// gradient is packed. Block after block passes by all tiles of a slice and a panel, whose sums lie
// together meanwhile: rows of the gradient may be a large power of two apart. Of kernels of three
// taps a side they stay in the first cache, and of blocks of 64 pixels what is multiplied, too.
#include <algorithm>

#include "runtime/math/ops/cpu/conv.h"
#include "runtime/math/ops/cpu/gemm_pack.h"
#include "runtime/math/ops/cpu/kernel_gradient_layout.h"

namespace trainyard::runtime {
namespace {

struct PixelRange {  // of the strip, or rows of output
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct PackedPanel {  // of the output's gradient
  const float* data = nullptr;
  std::int64_t width = 0;
};

template <class Tile>
class KernelGradient {
 public:
  KernelGradient(const Conv2d& conv, const ConvKernelGradient& call, Scratch scratch)
      : conv_(conv), call_(call), layout_(layout_of_gradient(conv, scratch)) {}

  // Tiles of the gradient: slice of channels after slice, of each panel after panel.
  [[nodiscard]] std::int64_t tiles() const {
    return first_tile_of(slices() - 1) + panels() * tiles_of_a_panel(slices() - 1);
  }

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
        pack_panels(example);
        write_offsets();
        for (std::int64_t slice = first_slice(); first_tile_of(slice) < end_tile_; ++slice) {
          copy_strip(example, slice);
          multiply_slice(slice);
        }
      }
    }
  }

 private:
  [[nodiscard]] std::int64_t slices() const {
    return (conv_.channels + layout_.channels - 1) / layout_.channels;
  }
  // The last may have fewer.
  [[nodiscard]] std::int64_t channels_of(std::int64_t slice) const {
    return std::min(layout_.channels, conv_.channels - slice * layout_.channels);
  }
  [[nodiscard]] std::int64_t panels() const {
    return (conv_.filters + Tile::columns - 1) / Tile::columns;
  }
  [[nodiscard]] std::int64_t tiles_of_a_panel(std::int64_t slice) const {
    const Runs runs = runs_of_a_row(channels_of(slice));
    const std::int64_t groups = runs.count * ((runs.floats + Tile::height - 1) / Tile::height);
    const auto tiles_for = [](std::int64_t count) {
      return (count + Tile::groups - 1) / Tile::groups;
    };
    return layout_.joins_rows ? tiles_for(height_.kernel * groups)
                              : height_.kernel * tiles_for(groups);
  }
  [[nodiscard]] std::int64_t first_tile_of(std::int64_t slice) const {
    return slice * panels() * tiles_of_a_panel(0);
  }
  [[nodiscard]] std::int64_t first_slice() const { return first_tile_ / first_tile_of(1); }
  // Calls visit(panel) for each of a slice of which some tiles are asked for.
  template <class Visit>
  void for_each_panel(std::int64_t slice, Visit visit) const {
    const std::int64_t each = tiles_of_a_panel(slice);
    const std::int64_t begin = first_tile_of(slice);
    const std::int64_t end = std::min(panels(), (end_tile_ - begin + each - 1) / each);
    for (std::int64_t panel = std::max<std::int64_t>(0, first_tile_ - begin) / each; panel < end;
         ++panel) {
      visit(panel);
    }
  }

  // Rows of padding are in the strip only where a tile has several rows of the kernel, which read
  // different ones of them.
  void copy_strip(std::int64_t example, std::int64_t slice) {
    const std::int64_t channel = slice * layout_.channels;
    const std::int64_t last = height_.first_of(row_ + rows_ - 1) + height_.reach();
    const std::int64_t end =
        layout_.joins_rows ? last : std::clamp(last, source_row_, height_.pixels);
    const RowCopy copy{.pixels = width_.pixels,
                       .channels = channels_of(slice),
                       .source = conv_.channels,
                       .pixel = layout_.channels,
                       .before = width_.before,
                       .after = padding_read(width_)};
    for (std::int64_t image = 0; image < images_; ++image) {
      float* to = layout_.image.data() + image * layout_.strip.source_rows * layout_.pitch;
      for (std::int64_t row = source_row_; row < end; ++row, to += layout_.pitch) {
        if (row < 0 || row >= height_.pixels) {
          std::fill_n(to, layout_.pitch, 0.0F);
        } else {
          const std::int64_t from = (example + image) * height_.pixels + row;
          copy_padded(call_.x.data + from * width_.pixels * conv_.channels + channel, copy, to);
        }
      }
    }
  }

  // Of one slice those that it needs, of several all. Of several images all rows are in the strip:
  // their pixels follow one another.
  void pack_panels(std::int64_t example) {
    const std::int64_t pixels = images_ * rows_ * width_.outputs();
    const float* const from = call_.y_gradient.data + (example * height_.outputs() + row_) *
                                                          width_.outputs() * conv_.filters;
    const auto pack_panel = [&](std::int64_t panel) {
      const std::int64_t column = panel * Tile::columns;
      const std::int64_t count = std::min(Tile::columns, conv_.filters - column);
      pack({.from = from + column,
            .across = 1,
            .along = conv_.filters,
            .count = count,
            .depth = pixels},
           Tile::width_of(count), layout_.panels.data() + column * pixels);
    };
    if (first_tile_of(first_slice() + 1) >= end_tile_) {
      for_each_panel(first_slice(), pack_panel);
    } else {
      for (std::int64_t panel = 0; panel < panels(); ++panel) pack_panel(panel);
    }
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
          layout_.offsets[at++] = source_row * layout_.pitch + source_pixel * layout_.channels;
        }
      }
    }
  }

  // Rows of the gradient that follow one another in the strip, too: of all channels taps side by
  // side, unless they are dilated.
  struct Runs {
    std::int64_t count = 1;
    std::int64_t floats = 0;  // of each
  };
  [[nodiscard]] Runs runs_of_a_row(std::int64_t channels) const {
    const bool joined = width_.dilation == 1 && channels == conv_.channels;
    if (joined) return {.floats = width_.kernel * channels};
    return {.count = width_.kernel, .floats = channels};
  }

  // Of a panel.
  [[nodiscard]] std::span<GradientTile> list_tiles(std::int64_t slice) {
    const auto [runs, floats] = runs_of_a_row(channels_of(slice));
    const std::int64_t first = slice * layout_.channels;
    std::size_t count = 0;
    GradientTile of{.tile = {.row_stride = 1}, .sums = {.base = Base::target}};
    const auto end_tile = [&] {
      if (of.tile.groups > 0) layout_.tiles[count++] = of;
      of.tile.groups = 0;
    };
    for (std::int64_t row = 0; row < height_.kernel; ++row) {
      for (std::int64_t run = 0; run < runs; ++run) {
        const std::int64_t source =
            row * height_.dilation * layout_.pitch + run * width_.dilation * layout_.channels;
        const std::int64_t target = (row * width_.kernel + run) * conv_.channels + first;
        for (std::int64_t at = 0; at < floats; at += Tile::height) {
          if (of.tile.groups == 0) of.kernel_row = row;
          const std::int64_t group = of.tile.groups++;
          of.tile.group[group] = layout_.image.data() + source + at;
          of.row[group] = target + at;
          of.count[group] = std::min(Tile::height, floats - at);
          if (of.tile.groups == Tile::groups) end_tile();
        }
      }
      if (!layout_.joins_rows) end_tile();
    }
    end_tile();
    return layout_.tiles.first(count);
  }

  void multiply_slice(std::int64_t slice) {
    const std::span<GradientTile> tiles = list_tiles(slice);
    for_each_panel(slice, [&](std::int64_t panel) {
      const std::int64_t begin = first_tile_of(slice) + panel * tiles_of_a_panel(slice);
      const auto number_of = [&](std::int64_t tile) {
        return static_cast<std::size_t>(
            std::clamp(tile - begin, std::int64_t{0}, std::ssize(tiles)));
      };
      const std::size_t first = number_of(first_tile_);
      const auto asked = tiles.subspan(first, number_of(end_tile_) - first);
      const std::int64_t column = panel * Tile::columns;
      fetch_sums(asked, column);
      multiply_panel(asked, column);
      store_sums(asked, column);
    });
  }

  // Rows and columns that the gradient lacks are summed, too, and left there.
  void fetch_sums(std::span<GradientTile> tiles, std::int64_t column) {
    const std::int64_t columns = std::min(Tile::columns, conv_.filters - column);
    const std::int64_t width = Tile::width_of(columns);
    float* to = layout_.sums.data();
    for (GradientTile& of : tiles) {
      of.sums.columns = width;
      of.sums.row_stride = width;
      for (std::int64_t group = 0; group < of.tile.groups; ++group, to += Tile::height * width) {
        of.sums.group[group] = to;
        of.sums.count[group] = Tile::height;
        for (std::int64_t row = 0; row < of.count[group]; ++row) {
          std::copy_n(gradient_row(of.row[group] + row) + column, columns, to + row * width);
        }
      }
    }
  }
  void store_sums(std::span<const GradientTile> tiles, std::int64_t column) {
    const std::int64_t columns = std::min(Tile::columns, conv_.filters - column);
    for (const GradientTile& of : tiles) {
      for (std::int64_t group = 0; group < of.tile.groups; ++group) {
        for (std::int64_t row = 0; row < of.count[group]; ++row) {
          std::copy_n(of.sums.group[group] + row * of.sums.row_stride, columns,
                      gradient_row(of.row[group] + row) + column);
        }
      }
    }
  }
  [[nodiscard]] float* gradient_row(std::int64_t row) const {
    return call_.kernel_gradient.data + row * conv_.filters;
  }

  // Block after block, so that each is read while it is near.
  void multiply_panel(std::span<GradientTile> tiles, std::int64_t column) {
    const std::int64_t rows = blocks_.rows;
    const PackedPanel packed{layout_.panels.data() + column * images_ * rows_ * width_.outputs(),
                             Tile::width_of(std::min(Tile::columns, conv_.filters - column))};
    for (std::int64_t image = 0; image < images_; ++image) {
      for (std::int64_t row = row_; row < row_ + rows_; row += rows) {
        const PixelRange whole{row, std::min(row + rows, height_.outputs())};
        std::int64_t kernel_row = -1;
        PixelRange pixels;
        for (GradientTile& tile : tiles) {
          if (tile.kernel_row != kernel_row) {
            kernel_row = tile.kernel_row;
            const PixelRange of = layout_.joins_rows ? whole : rows_read(whole, kernel_row);
            const std::int64_t before = image * rows_ - row_;
            pixels = {(before + of.begin) * width_.outputs(), (before + of.end) * width_.outputs()};
          }
          multiply_tile(tile, packed, pixels);
        }
      }
    }
  }

  // Without the output rows for which this row of the kernel lies in the padding. (A product with
  // zero changes no sum that began at zero.)
  [[nodiscard]] PixelRange rows_read(PixelRange rows, std::int64_t kernel_row) const {
    while (rows.begin < rows.end && kernel_row < height_.first_tap(rows.begin)) ++rows.begin;
    while (rows.begin < rows.end && kernel_row >= height_.last_tap(rows.end - 1)) --rows.end;
    return rows;
  }

  // A block's pixels; those of a wide row are several blocks.
  void multiply_tile(GradientTile& of, const PackedPanel& panel, PixelRange pixels) const {
    const std::int64_t step = blocks_.rows * blocks_.pixels;
    for (std::int64_t begin = pixels.begin; begin < pixels.end; begin += step) {
      of.tile.offsets = layout_.offsets.data() + begin;
      of.tile.depth = std::min(step, pixels.end - begin);
      of.tile.right = panel.data + begin * panel.width;
      Tile::multiply(of.tile, of.sums);
    }
  }

  const Conv2d& conv_;
  const ConvKernelGradient& call_;
  const WindowAxis& height_ = conv_.window.height;
  const WindowAxis& width_ = conv_.window.width;
  const GradientBlocks blocks_ = gradient_blocks_of(conv_.window);
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
  } else if (conv.channels % 4 == 0 ||
             conv.window.width.kernel * conv.channels > 2 * gradient_tile_rows) {
    divide_kernel_gradient<Avx512TapTile<4>>(conv, call, scratch);
  } else {
    divide_kernel_gradient<Avx512TapTile<2>>(conv, call, scratch);
  }
}

}  // namespace trainyard::runtime
