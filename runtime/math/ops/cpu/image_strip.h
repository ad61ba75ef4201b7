// Which part of a batch's images is worked on at a time: what lies in the second-level cache while
// all of the kernel passes by.
#pragma once

#include <algorithm>
#include <cstdint>

namespace trainyard::runtime {

inline constexpr std::int64_t strip_floats = 75 * 1024;  // 300 KiB
inline constexpr std::int64_t strip_pixels = 1024;       // of output

struct StripRequest {
  std::int64_t outputs = 0;      // rows of an image
  std::int64_t width = 0;        // pixels of such a row
  std::int64_t unit = 1;         // strips are multiples of so many rows, or end with the image
  std::int64_t stride = 1;       // rows of the source from one output row to the next
  std::int64_t reach = 1;        // rows of the source that one output row needs
  std::int64_t source_rows = 0;  // that an image has; more are never needed
  std::int64_t pitch = 0;        // floats of a row of the source, with its padding

  [[nodiscard]] std::int64_t rows_for(std::int64_t rows) const {
    return std::min(source_rows, (rows - 1) * stride + reach);
  }
  [[nodiscard]] bool fits(std::int64_t rows, std::int64_t images) const {
    return images * rows_for(rows) * pitch <= strip_floats && images * rows * width <= strip_pixels;
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

// A row of an image with zeros on both sides: `pixels` of `channels` floats.
inline void copy_padded(const float* row, std::int64_t pixels_floats, std::int64_t before_floats,
                        std::int64_t after_floats, float* to) {
  std::fill_n(to, before_floats, 0.0F);
  std::copy_n(row, pixels_floats, to + before_floats);
  std::fill_n(to + before_floats + pixels_floats, after_floats, 0.0F);
}

}  // namespace trainyard::runtime
