#include "runtime/data/image_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "runtime/data/data_file.h"

namespace trainyard::runtime {
namespace {

constexpr std::array<std::uint8_t, 8> png_begin{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
constexpr std::array<std::uint8_t, 3> jpeg_begin{0xFF, 0xD8, 0xFF};

bool begins_with(std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> begin) {
  return bytes.size() >= begin.size() && std::ranges::equal(bytes.first(begin.size()), begin);
}

Result<Image> decode_any(std::span<const std::uint8_t> bytes) {
  if (begins_with(bytes, png_begin)) return decode_png(bytes);
  if (begins_with(bytes, jpeg_begin)) return decode_jpeg(bytes);
  if (bytes.size() >= 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6') {
    return decode_netpbm(bytes);
  }
  return invalid("is no PNG, JPEG, PGM or PPM image");
}

// Rec. 601's luma in units of 2^-16.
Image to_grey(const Image& image) {
  Image grey{.shape = {.height = image.shape.height, .width = image.shape.width, .channels = 1},
             .pixels = {}};
  grey.pixels.reserve(grey.shape.bytes());
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    const std::uint32_t luma = 19595U * image.pixels[i] + 38470U * image.pixels[i + 1] +
                               7471U * image.pixels[i + 2] + 0x8000U;
    grey.pixels.push_back(static_cast<std::uint8_t>(luma >> 16));
  }
  return grey;
}

Image to_colours(const Image& image) {
  Image colours{.shape = {.height = image.shape.height, .width = image.shape.width, .channels = 3},
                .pixels = {}};
  colours.pixels.reserve(colours.shape.bytes());
  for (const std::uint8_t byte : image.pixels) colours.pixels.insert(colours.pixels.end(), 3, byte);
  return colours;
}

}  // namespace

Status check_image_size(std::int64_t height, std::int64_t width) {
  if (height < 1 || width < 1) return invalid("has no pixels");
  if (height <= image_pixels_max / width) return ok();
  return invalid("claims " + std::to_string(height) + " x " + std::to_string(width) +
                 " pixels; at most " + std::to_string(image_pixels_max) + " are read");
}

Result<Image> decode_image(std::span<const std::uint8_t> bytes, std::int64_t channels) {
  TRY_ASSIGN(Image image, decode_any(bytes));
  if (image.shape.channels == channels) return image;
  return channels == 1 ? to_grey(image) : to_colours(image);
}

Result<Image> read_image_file(const std::string& field, const std::string& path,
                              std::int64_t channels) {
  TRY_ASSIGN(const Descriptor opened, open_data_file(field, path));
  std::error_code error;
  const auto size = std::filesystem::file_size(path_of(opened), error);
  if (error) return invalid("dataset: " + path + " cannot be looked at: " + error.message());
  if (size > static_cast<std::uintmax_t>(image_file_bytes_max)) {
    return invalid("dataset: " + path + " is too large for an image, it has " +
                   std::to_string(size) + " bytes");
  }
  std::vector<std::uint8_t> bytes(size);
  std::ifstream file(path_of(opened), std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), std::ssize(bytes));
  if (!file) return invalid("dataset: " + path + " cannot be read");
  auto image = decode_image(bytes, channels);
  if (!image) return invalid("dataset: " + path + " " + image.error().message);
  return image;
}

}  // namespace trainyard::runtime
