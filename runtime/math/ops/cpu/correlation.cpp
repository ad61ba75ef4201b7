// A strip of the source is copied into scratch with its padding to the left and right, where a
// row's pixels and channels follow one another; the kernel's matrix is packed once. Then it is as
// in gemm: for each block of the depth and each panel of columns, tile after tile of pixels.
//
// Where the target has few columns the strip lies channel by channel, each a plane of a row, and
// tiles are of vectors along the pixels (planar_tile.h).
//
// Rows of output that read the same rows of the kernel are a band: rows of padding are neither
// copied nor multiplied.
#include "runtime/math/ops/cpu/correlation.h"

#include <algorithm>

#include "runtime/math/ops/cpu/gemm_pack.h"
#include "runtime/math/ops/cpu/image_strip.h"
#include "runtime/math/ops/cpu/planar_tile.h"

namespace trainyard::runtime {
namespace {

// Output pixels side by side.
struct PixelGroup {
  std::int64_t source = 0;  // in the strip: the first pixel's first tap
  std::int64_t target = 0;  // in the target
  std::int64_t count = 0;
};

constexpr std::int64_t widest_panel = 32;
constexpr std::int64_t highest_group = 4;
constexpr std::int64_t widest_vector = 16;

// Vectors along pixels, and not along columns, where these fill less of them.
bool is_planar(const Correlation& of) {
  const std::int64_t pixels = of.width.outputs;
  const std::int64_t places = (pixels + widest_vector - 1) / widest_vector * widest_vector;
  return of.columns <= planar_columns_max && of.width.stride == 1 &&
         pixels * 8 > places * of.columns;
}

struct Layout {
  bool is_planar = false;
  std::int64_t pixel = 0;    // floats from a pixel of the strip to the next,
  std::int64_t channel = 0;  // from a channel,
  std::int64_t pitch = 0;    // and from a row
  StripSize strip;
  std::int64_t image_floats = 0;  // of a thread's strip
  std::int64_t groups_each = 0;
  std::span<float> image;
  std::span<float> panels;
  std::span<std::int64_t> offsets;  // by step of the depth
  std::span<std::int64_t> cuts;     // where blocks of the depth begin, and the end
  std::span<PixelGroup> groups;
};

// A strip for each thread, and its list of groups; they share the rest.
Layout layout_of(const Correlation& of, std::int64_t threads, Scratch& scratch) {
  Layout layout;
  const std::int64_t pixels =
      of.width.padding_before() + of.width.source + of.width.padding_after();
  layout.is_planar = is_planar(of);
  layout.pixel = layout.is_planar ? 1 : spread_of(of.channels);
  layout.channel = layout.is_planar ? pixels : 1;
  layout.pitch = layout.is_planar ? pixels * of.channels : pixels * layout.pixel;
  layout.strip = strip_size({.outputs = of.height.outputs,
                             .width = of.width.outputs,
                             .stride = of.height.stride,
                             .reach = (of.height.taps - 1) * of.height.step + 1,
                             .source_rows = of.height.source,
                             .pitch = layout.pitch});
  // The last group's rows may lie beyond the last pixel.
  const std::int64_t slack =
      layout.is_planar ? widest_vector : highest_group * of.width.stride * layout.pixel;
  layout.image_floats =
      round_up_to_alignment(layout.strip.images * layout.strip.source_rows * layout.pitch + slack);
  layout.image = scratch.take<float>(threads * layout.image_floats);
  const std::int64_t width = (of.columns + widest_panel - 1) / widest_panel * widest_panel;
  layout.panels = scratch.take<float>(of.depth() * width + pack_slack);
  layout.offsets = scratch.take<std::int64_t>(of.depth());
  const std::int64_t whole = of.kernel_taps * of.channels;
  const std::int64_t block = depth_block_of(whole);
  layout.cuts = scratch.take<std::int64_t>((whole + block - 1) / block + 1);
  layout.groups_each = std::max(strip_pixels, of.width.outputs);
  layout.groups = scratch.take<PixelGroup>(threads * layout.groups_each);
  return layout;
}

struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

template <class Tile>
class Correlator {
 public:
  Correlator(const Correlation& of, const CorrelationCall& call, Scratch scratch)
      : of_(of), call_(call), layout_(layout_of(of, call.threads.count(), scratch)) {}

  void run() {
    pack_panels();
    write_offsets();
    write_cuts();
    const std::int64_t rows = (of_.height.outputs + layout_.strip.rows - 1) / layout_.strip.rows;
    const std::int64_t images = images_of_a_strip();
    const std::int64_t strips = (call_.examples + images - 1) / images * rows;
    call_.threads.split({.count = strips, .nanoseconds_each = work() / static_cast<double>(strips)},
                        [&](const Part& part) {
                          Correlator mine = *this;
                          mine.take_place(part.member);
                          for (std::int64_t strip = part.begin; strip < part.end; ++strip) {
                            mine.run_strip(strip / rows * images, images, strip % rows);
                          }
                        });
  }

 private:
  [[nodiscard]] double work() const {
    const std::int64_t outputs = call_.examples * of_.height.outputs * of_.width.outputs;
    return gemm_nanoseconds(static_cast<double>(outputs * of_.columns * of_.depth()));
  }

  // As many as there is room for, or fewer so that each thread gets some.
  [[nodiscard]] std::int64_t images_of_a_strip() const {
    const std::int64_t parts = call_.threads.parts_of(work());
    if (parts == 1) return layout_.strip.images;
    return std::min(layout_.strip.images, (call_.examples + parts - 1) / parts);
  }

  void take_place(std::int64_t member) {
    const auto floats = static_cast<std::size_t>(layout_.image_floats);
    const auto groups = static_cast<std::size_t>(layout_.groups_each);
    const auto at = static_cast<std::size_t>(member);
    layout_.image = layout_.image.subspan(at * floats, floats);
    layout_.groups = layout_.groups.subspan(at * groups, groups);
  }

  void run_strip(std::int64_t example, std::int64_t images_max, std::int64_t number) {
    const std::int64_t images = std::min(images_max, call_.examples - example);
    const std::int64_t row = number * layout_.strip.rows;
    const Interval rows{row, std::min(row + layout_.strip.rows, of_.height.outputs)};
    copy_strip(example, images, rows);
    multiply_strip(example, images, rows);
  }

  void pack_panels() {
    const TapMatrix& matrix = call_.matrix;
    for (std::int64_t column = 0; column < of_.columns; column += Tile::columns) {
      const std::int64_t count = std::min(Tile::columns, of_.columns - column);
      const std::int64_t width = Tile::width_of(count);
      float* panel = layout_.panels.data() + column * of_.depth();
      for (std::int64_t row = 0; row < of_.height.taps; ++row) {
        for (std::int64_t tap = 0; tap < of_.width.taps; ++tap) {
          pack({.from = matrix.data + row * matrix.row_stride + tap * matrix.column_stride +
                        column * matrix.across,
                .across = matrix.across,
                .along = matrix.along,
                .count = count,
                .depth = of_.channels},
               width, panel);
          panel += of_.channels * width;
        }
      }
    }
  }

  void write_offsets() {
    std::size_t at = 0;
    for (std::int64_t row = 0; row < of_.height.taps; ++row) {
      for (std::int64_t tap = 0; tap < of_.width.taps; ++tap) {
        const std::int64_t from =
            row * of_.height.step * layout_.pitch + tap * of_.width.step * layout_.pixel;
        for (std::int64_t i = 0; i < of_.channels; ++i) {
          layout_.offsets[at++] = from + i * layout_.channel;
        }
      }
    }
  }

  // Blocks are those of the whole kernel's depth, of which an axis may walk every other tap.
  void write_cuts() {
    const std::int64_t block = depth_block_of(of_.kernel_taps * of_.channels);
    std::size_t next = 0;
    std::int64_t step = 0;
    for (std::int64_t row = 0; row < of_.height.taps; ++row) {
      for (std::int64_t tap = 0; tap < of_.width.taps; ++tap, step += of_.channels) {
        const std::int64_t row_index = of_.height.index_first + row * of_.height.index_step;
        const std::int64_t tap_index = of_.width.index_first + tap * of_.width.index_step;
        const std::int64_t index = (row_index * of_.kernel_width + tap_index) * of_.channels;
        while (next < layout_.cuts.size() - 1 && begin_of(next, block) < index + of_.channels) {
          layout_.cuts[next] = step + std::max<std::int64_t>(0, begin_of(next, block) - index);
          ++next;
        }
      }
    }
    for (; next < layout_.cuts.size(); ++next) layout_.cuts[next] = step;
  }
  static std::int64_t begin_of(std::size_t cut, std::int64_t block) {
    return static_cast<std::int64_t>(cut) * block;
  }

  // The source's rows that some of these output rows read.
  [[nodiscard]] Interval source_rows(Interval rows) const {
    const std::int64_t begin =
        std::clamp<std::int64_t>(of_.height.place(rows.begin, 0), 0, of_.height.source);
    const std::int64_t last = of_.height.place(rows.end - 1, of_.height.taps - 1);
    return {begin, std::clamp(last + 1, begin, of_.height.source)};
  }

  void copy_strip(std::int64_t example, std::int64_t images, Interval rows) {
    const Interval from = source_rows(rows);
    const std::int64_t row_floats = of_.width.source * of_.channels;
    const RowCopy copy{.pixels = of_.width.source,
                       .channels = of_.channels,
                       .source = of_.channels,
                       .pixel = layout_.pixel,
                       .before = of_.width.padding_before(),
                       .after = of_.width.padding_after()};
    for (std::int64_t image = 0; image < images; ++image) {
      for (std::int64_t row = from.begin; row < from.end; ++row) {
        const float* const source =
            call_.source + ((example + image) * of_.height.source + row) * row_floats;
        float* const to = layout_.image.data() +
                          (image * layout_.strip.source_rows + row - from.begin) * layout_.pitch;
        layout_.is_planar ? copy_planes(source, copy, to) : copy_padded(source, copy, to);
      }
    }
  }

  void multiply_strip(std::int64_t example, std::int64_t images, Interval rows) {
    for (std::int64_t row = rows.begin; row < rows.end;) {
      const std::int64_t first = of_.height.first_tap(row);
      const std::int64_t last = of_.height.last_tap(row);
      std::int64_t end = row + 1;
      while (end < rows.end && of_.height.first_tap(end) == first &&
             of_.height.last_tap(end) == last) {
        ++end;
      }
      std::size_t groups = 0;
      for (std::int64_t image = 0; image < images; ++image) {
        for (std::int64_t band_row = row; band_row < end; ++band_row) {
          groups = list_groups(example, image, band_row, source_rows(rows).begin, groups);
        }
      }
      const std::int64_t row_steps = of_.width.taps * of_.channels;
      multiply_band(layout_.groups.first(groups), {first * row_steps, last * row_steps});
      row = end;
    }
  }

  // Appends the groups of one row of output after the first `count`; returns how many there are.
  std::size_t list_groups(std::int64_t example, std::int64_t image, std::int64_t row,
                          std::int64_t first_source_row, std::size_t count) {
    const std::int64_t source_row =
        image * layout_.strip.source_rows + of_.height.place(row, 0) - first_source_row;
    const std::int64_t target_row = of_.height.target_first + row * of_.height.target_stride;
    const std::int64_t target_at =
        (example + image) * of_.target_pixels + target_row * of_.target_width;
    for (std::int64_t pixel = 0; pixel < of_.width.outputs; pixel += Tile::height) {
      const std::int64_t source_pixel = of_.width.place(pixel, 0) + of_.width.padding_before();
      const std::int64_t target_pixel =
          target_at + of_.width.target_first + pixel * of_.width.target_stride;
      layout_.groups[count++] = {
          .source = source_row * layout_.pitch + source_pixel * layout_.pixel,
          .target = target_pixel * of_.columns,
          .count = std::min(Tile::height, of_.width.outputs - pixel)};
    }
    return count;
  }

  void multiply_band(std::span<const PixelGroup> groups, Interval depth) {
    const auto range_of = [&](std::size_t block) {
      return Interval{std::max(depth.begin, layout_.cuts[block]),
                      std::min(depth.end, layout_.cuts[block + 1])};
    };
    std::size_t last = layout_.cuts.size() - 2;
    while (last > 0 && range_of(last).begin >= range_of(last).end) --last;
    for (std::size_t block = 0; block <= last; ++block) {
      Interval range = range_of(block);
      if (range.begin >= range.end && block > 0) continue;
      range.end = std::max(range.begin, range.end);  // the first writes the base even so
      const Finish finish = block == last ? call_.finish : Finish::as_it_is;
      const Base base = block > 0 || call_.write == Write::add ? Base::target
                        : call_.bias != nullptr                ? Base::bias
                                                               : Base::nothing;
      for (std::int64_t column = 0; column < of_.columns; column += Tile::columns) {
        multiply_panel(groups, range, column, {.base = base, .finish = finish});
      }
    }
  }

  // `how`: the base and the finish.
  void multiply_panel(std::span<const PixelGroup> groups, Interval depth, std::int64_t column,
                      TapTarget how) {
    const std::int64_t count = std::min(Tile::columns, of_.columns - column);
    TapTile tile{.row_stride = of_.width.stride * layout_.pixel,
                 .offsets = layout_.offsets.data() + depth.begin,
                 .depth = depth.end - depth.begin,
                 .right = layout_.panels.data() + column * of_.depth() +
                          depth.begin * Tile::width_of(count)};
    how.row_stride = of_.width.target_stride * of_.columns;
    how.columns = count;
    how.bias = call_.bias == nullptr ? nullptr : call_.bias + column;
    for (std::size_t at = 0; at < groups.size(); at += Tile::groups) {
      const std::size_t some = std::min<std::size_t>(Tile::groups, groups.size() - at);
      for (std::size_t i = 0; i < some; ++i) {
        tile.group[i] = layout_.image.data() + groups[at + i].source;
        how.group[i] = call_.target + groups[at + i].target + column;
        how.count[i] = groups[at + i].count;
      }
      tile.groups = static_cast<std::int64_t>(some);
      Tile::multiply(tile, how);
    }
  }

  const Correlation& of_;
  const CorrelationCall& call_;
  Layout layout_;
};

// Groups of four where they fill nearly as many of a tile's rows as groups of two would.
bool fills_groups_of_four(std::int64_t pixels) {
  const std::int64_t by_four = (pixels + 3) / 4 * 4;
  const std::int64_t by_two = (pixels + 1) / 2 * 2;
  return by_four * 20 <= by_two * 21;
}

}  // namespace

std::size_t correlation_scratch_bytes(const Correlation& correlation, std::int64_t threads) {
  Scratch counted;
  layout_of(correlation, threads, counted);
  return counted.used_bytes();
}

void correlate(const Correlation& correlation, const CorrelationCall& call, Scratch scratch,
               GemmKernel kernel) {
  if (is_planar(correlation) && kernel == GemmKernel::avx2) {
    Correlator<Avx2PlanarTile>(correlation, call, scratch).run();
  } else if (is_planar(correlation)) {
    Correlator<Avx512PlanarTile>(correlation, call, scratch).run();
  } else if (kernel == GemmKernel::avx2) {
    Correlator<Avx2TapTile>(correlation, call, scratch).run();
  } else if (fills_groups_of_four(correlation.width.outputs)) {
    Correlator<Avx512TapTile<4>>(correlation, call, scratch).run();
  } else {
    Correlator<Avx512TapTile<2>>(correlation, call, scratch).run();
  }
}

}  // namespace trainyard::runtime
