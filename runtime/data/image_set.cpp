#include "runtime/data/image_set.h"

#include <utility>

#include "runtime/data/places.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// A shuffled image is nowhere near the last one: without this, half of the time of read() is
// waiting for memory.
void fetch_into_cache(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t cache_line = 64;
  for (std::size_t i = 0; i < bytes.size(); i += cache_line) __builtin_prefetch(&bytes[i]);
}

std::size_t index_of(Split split) { return split == Split::train ? 0 : 1; }

}  // namespace

ImageSet::ImageSet(DataShape shape, ImageReader reader, std::array<Part, 2> parts,
                   std::int64_t threads)
    : shape_(std::move(shape)),
      reader_(std::move(reader)),
      threads_(threads),
      parts_(std::move(parts)) {}

std::int64_t ImageSet::size(Split split) const { return parts_.at(index_of(split)).examples; }

Status ImageSet::prepare(Split split) const {
  const std::lock_guard lock(preparing_);
  auto& images = read_.at(index_of(split));
  if (images) return ok();
  TRY_ASSIGN(images, parts_.at(index_of(split)).read());
  ENSURE(std::ssize(images->labels) == size(split));
  ENSURE(images->decode || std::ssize(images->pixels) == size(split) * shape_.features);
  return ok();
}

Status ImageSet::fill(const Selection& selection, Batch& batch) const {
  const auto& indices = selection.indices;
  const auto& images = read_.at(index_of(selection.split));
  ENSURE(images.has_value());  // prepare() was called
  const ImageSplit& source = *images;
  const auto features = static_cast<std::size_t>(shape_.features);
  batch.features.resize(indices.size() * features);
  batch.labels.resize(indices.size());
  batch.targets.clear();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    ENSURE(indices[i] >= 0 && indices[i] < std::ssize(source.labels));
    batch.labels[i] = source.labels[static_cast<std::size_t>(indices[i])];
  }
  const auto write = [&](std::size_t i, std::span<const std::uint8_t> pixels) {
    std::optional<std::uint64_t> position;
    if (selection.split == Split::train) position = selection.first_position + i;
    reader_.read(pixels, position, batch.features.data() + i * features);
  };
  if (source.decode) {
    return for_each_place(std::ssize(indices), threads_, [&](std::int64_t place) -> Status {
      const auto i = static_cast<std::size_t>(place);
      std::vector<std::uint8_t> pixels(features);
      TRY(source.decode(indices[i], pixels));
      write(i, pixels);
      return ok();
    });
  }
  const auto pixels_of = [&](std::size_t i) {
    return source.pixels.subspan(static_cast<std::size_t>(indices[i]) * features, features);
  };
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (i + 1 < indices.size()) fetch_into_cache(pixels_of(i + 1));
    write(i, pixels_of(i));
  }
  return ok();
}

}  // namespace trainyard::runtime
