// Image files: PNG, JPEG, and binary PGM and PPM, told apart by how they begin.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/data/image.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// Of more an image is refused before memory is taken for it: a file of some kilobytes may claim
// any number.
inline constexpr std::int64_t image_pixels_max = std::int64_t{1} << 26;
inline constexpr std::int64_t image_file_bytes_max = std::int64_t{1} << 28;

// The image in the file, with 1 channel (grey) or 3, as `channels` says; what the file has
// otherwise is converted. The upper 8 of 16 bits are taken, an alpha channel is left out, and
// neither gamma, nor a colour profile, nor EXIF's orientation is applied. `invalid` with what is
// wrong with the bytes ("is truncated"), never the bytes; the file is the caller's to name.
Result<Image> decode_image(std::span<const std::uint8_t> bytes, std::int64_t channels);

// The same of a file, named in the error. `field` is the spec's: "dataset.path".
Result<Image> read_image_file(const std::string& field, const std::string& path,
                              std::int64_t channels);

// Of one format each, with as many channels as the file has: 1 or 3.
Result<Image> decode_png(std::span<const std::uint8_t> bytes);
Result<Image> decode_jpeg(std::span<const std::uint8_t> bytes);
Result<Image> decode_netpbm(std::span<const std::uint8_t> bytes);

// `invalid` where the image would be empty or beyond image_pixels_max.
Status check_image_size(std::int64_t height, std::int64_t width);

}  // namespace trainyard::runtime
