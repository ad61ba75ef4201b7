#include "runtime/data/file_images.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "runtime/data/image_file.h"
#include "runtime/data/places.h"
#include "runtime/data/resample.h"

namespace trainyard::runtime {
namespace {

// Decoded at once and kept, a split has at most so many bytes: in a cache of the host's, and in
// memory where there is none.
constexpr std::int64_t kept_bytes_max = std::int64_t{512} << 20;
constexpr std::int64_t kept_in_memory_max = std::int64_t{64} << 20;

void cover_size(const Image& image, const ImageShape& shape, std::span<std::uint8_t> to) {
  const auto made = resample(image.pixels, image.shape, middle_window(image.shape, shape), shape);
  std::ranges::copy(made, to.begin());
}

void fit_line(const Image& image, const ImageShape& shape, std::span<std::uint8_t> to) {
  const ImageShape& from = image.shape;
  const std::int64_t width = (from.width * shape.height + from.height / 2) / from.height;
  const ImageShape scaled{.height = shape.height,
                          .width = std::clamp<std::int64_t>(width, 1, shape.width),
                          .channels = shape.channels};
  const Window all{.top = 0, .left = 0, .height = from.height, .width = from.width};
  const auto made = resample(image.pixels, from, all, scaled);
  const auto row_bytes = static_cast<std::size_t>(shape.width * shape.channels);
  const auto made_bytes = static_cast<std::size_t>(scaled.width * scaled.channels);
  std::ranges::fill(to, std::uint8_t{0});
  for (std::size_t row = 0; row < static_cast<std::size_t>(shape.height); ++row) {
    std::ranges::copy(std::span(made).subspan(row * made_bytes, made_bytes),
                      to.subspan(row * row_bytes).begin());
  }
}

Status decode_to(const FileImages& files, std::size_t index, std::span<std::uint8_t> to) {
  TRY_ASSIGN(const Image image,
             read_image_file("dataset.path", files.paths[index], files.shape.channels));
  (files.fit == ImageFit::cover ? cover_size : fit_line)(image, files.shape, to);
  return ok();
}

Result<DecodedData> decode_all(const FileImages& files) {
  const std::size_t bytes = files.shape.bytes();
  std::vector<std::uint8_t> pixels(files.paths.size() * bytes);
  TRY(for_each_place(std::ssize(files.paths), files.access.threads, [&](std::int64_t place) {
    const auto i = static_cast<std::size_t>(place);
    return decode_to(files, i, std::span(pixels).subspan(i * bytes, bytes));
  }));
  return decoded_data({}, std::move(pixels));
}

bool is_kept(const FileImages& files) {
  const std::int64_t room = files.access.cache.bytes_max();
  const std::int64_t most = room > 0 ? std::min(kept_bytes_max, room) : kept_in_memory_max;
  return std::ssize(files.paths) <= most / static_cast<std::int64_t>(files.shape.bytes());
}

}  // namespace

Result<ImageSplit> open_file_images(FileImages files) {
  ImageSplit opened;
  if (!is_kept(files)) {
    const auto shared = std::make_shared<const FileImages>(std::move(files));
    opened.decode = [shared](std::int64_t index, std::span<std::uint8_t> to) {
      return decode_to(*shared, static_cast<std::size_t>(index), to);
    };
    return opened;
  }
  const ImageShape& shape = files.shape;
  const DataCache::Source source{
      .reader = (files.fit == ImageFit::cover ? "image_folder 1, " : "image_lines 1, ") +
                std::to_string(shape.height) + " x " + std::to_string(shape.width) + " x " +
                std::to_string(shape.channels),
      .files = files.paths};
  const std::size_t expected = files.paths.size() * shape.bytes();
  const auto is_sound = [expected](const DecodedData& data) {
    return data.arrays.size() == 1 && data.arrays.front().size() == expected;
  };
  TRY_ASSIGN(DecodedData data, files.access.cache.get(
                                   source, [&files] { return decode_all(files); }, is_sound));
  opened.pixels = array_of<std::uint8_t>(data, 0);
  opened.owner = std::move(data.owner);
  return opened;
}

}  // namespace trainyard::runtime
