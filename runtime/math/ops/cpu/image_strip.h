// Which part of a batch's images is worked on at a time: what lies in the second-level cache while
// all of the kernel passes by.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace trainyard::runtime {

inline constexpr std::int64_t strip_floats = 75 * 1024;  // 300 KiB
inline constexpr std::int64_t strip_pixels = 1024;       // of output
inline constexpr std::int64_t strip_output_floats = 256 * 1024;

struct StripRequest {
  std::int64_t outputs = 0;       // rows of an image
  std::int64_t width = 0;         // pixels of such a row
  std::int64_t unit = 1;          // strips are multiples of so many rows, or end with the image
  std::int64_t stride = 1;        // rows of the source from one output row to the next
  std::int64_t reach = 1;         // rows of the source that one output row needs
  std::int64_t source_rows = 0;   // that an image has; more are never needed
  std::int64_t pitch = 0;         // floats of a row of the source, with its padding
  std::int64_t pixel_floats = 0;  // that are kept of a pixel of output; 0: none

  // The reach of no taps at all may be negative.
  [[nodiscard]] std::int64_t rows_for(std::int64_t rows) const {
    return std::max<std::int64_t>(0, std::min(source_rows, (rows - 1) * stride + reach));
  }
  [[nodiscard]] bool fits(std::int64_t rows, std::int64_t images) const {
    const std::int64_t pixels = images * rows * width;
    return images * rows_for(rows) * pitch <= strip_floats && pixels <= strip_pixels &&
           pixels * pixel_floats <= strip_output_floats;
  }
};

struct StripSize {
  std::int64_t images = 1;
  std::int64_t rows = 1;         // of output, of each image
  std::int64_t source_rows = 1;  // for them
};

// Whole images, several where they are small; or rows of one, evenly divided. At least one unit.
inline StripSize strip_size(const StripRequest& request) {
  StripSize size{.rows = request.outputs};
  if (request.fits(request.outputs, 1)) {
    while (request.fits(request.outputs, size.images + 1)) ++size.images;
  } else {
    std::int64_t units = 1;
    while (request.fits((units + 1) * request.unit, 1)) ++units;
    const std::int64_t all = (request.outputs + request.unit - 1) / request.unit;
    const std::int64_t strips = (all + units - 1) / units;
    size.rows = std::min(request.outputs, (all + strips - 1) / strips * request.unit);
  }
  size.source_rows = request.rows_for(size.rows);
  return size;
}

// How far apart an image's pixels lie in a strip. Pixels a large power of two apart would share few
// sets of the cache.
constexpr std::int64_t spread_of(std::int64_t channels) {
  constexpr std::int64_t line = 16;  // floats
  return channels % (8 * line) == 0 ? channels + line : channels;
}

struct RowCopy {
  std::int64_t pixels = 0;
  std::int64_t channels = 0;
  std::int64_t source = 0;  // floats from a pixel to the next, where it is
  std::int64_t pixel = 0;   // and in the strip
  std::int64_t before = 0;  // pixels of padding
  std::int64_t after = 0;
};

// A row of an image, with zeros on both sides.
inline void copy_padded(const float* row, const RowCopy& copy, float* to) {
  std::fill_n(to, copy.before * copy.pixel, 0.0F);
  to += copy.before * copy.pixel;
  constexpr std::int64_t lane = 8;  // floats of which the compiler makes one move
  if (copy.source == copy.channels && copy.pixel == copy.channels) {
    std::copy_n(row, copy.pixels * copy.channels, to);
  } else if (copy.channels > 8 * lane) {
    for (std::int64_t pixel = 0; pixel < copy.pixels; ++pixel) {
      std::copy_n(row + pixel * copy.source, copy.channels, to + pixel * copy.pixel);
    }
  } else {
    std::int64_t channel = 0;
    for (; channel + lane <= copy.channels; channel += lane) {
      for (std::int64_t pixel = 0; pixel < copy.pixels; ++pixel) {
        std::memcpy(to + pixel * copy.pixel + channel, row + pixel * copy.source + channel,
                    lane * sizeof(float));
      }
    }
    for (; channel < copy.channels; ++channel) {
      for (std::int64_t pixel = 0; pixel < copy.pixels; ++pixel) {
        to[pixel * copy.pixel + channel] = row[pixel * copy.source + channel];
      }
    }
  }
  std::fill_n(to + copy.pixels * copy.pixel, copy.after * copy.pixel, 0.0F);
}

// The same channel by channel: all pixels of the first, with their padding, then of the next.
inline void copy_planes(const float* row, const RowCopy& copy, float* to) {
  const std::int64_t pixels = copy.before + copy.pixels + copy.after;
  for (std::int64_t channel = 0; channel < copy.channels; ++channel, to += pixels) {
    std::fill_n(to, copy.before, 0.0F);
    for (std::int64_t pixel = 0; pixel < copy.pixels; ++pixel) {
      to[copy.before + pixel] = row[pixel * copy.channels + channel];
    }
    std::fill_n(to + copy.before + copy.pixels, copy.after, 0.0F);
  }
}

}  // namespace trainyard::runtime
