#include "runtime/data/image_set.h"

#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// A shuffled image is nowhere near the last one: without this, half of the time of read() is
// waiting for memory.
void fetch_into_cache(const std::uint8_t* bytes, std::size_t count) {
  constexpr std::size_t cache_line = 64;
  for (std::size_t i = 0; i < count; i += cache_line) __builtin_prefetch(bytes + i);
}

std::size_t index_of(Split split) { return split == Split::train ? 0 : 1; }

}  // namespace

void read_pixels(std::span<const std::uint8_t> pixels, float* to) {
  for (std::size_t i = 0; i < pixels.size(); ++i) to[i] = static_cast<float>(pixels[i]) / 255.0F;
}

ImageSet::ImageSet(DataShape shape, Part train, Part test)
    : shape_(std::move(shape)), parts_{std::move(train), std::move(test)} {}

std::int64_t ImageSet::size(Split split) const { return parts_.at(index_of(split)).examples; }

Status ImageSet::prepare(Split split) const {
  const std::lock_guard lock(preparing_);
  auto& images = read_.at(index_of(split));
  if (images) return ok();
  TRY_ASSIGN(images, parts_.at(index_of(split)).read());
  ENSURE(std::ssize(images->labels) == size(split));
  ENSURE(std::ssize(images->pixels) == size(split) * shape_.features);
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
  for (const std::int64_t index : indices) ENSURE(index >= 0 && index < std::ssize(source.labels));
  const auto pixels_of = [&](std::size_t i) {
    return source.pixels.data() + static_cast<std::size_t>(indices[i]) * features;
  };
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (i + 1 < indices.size()) fetch_into_cache(pixels_of(i + 1), features);
    read_pixels({pixels_of(i), features}, batch.features.data() + i * features);
    batch.labels[i] = source.labels[static_cast<std::size_t>(indices[i])];
  }
  return ok();
}

}  // namespace trainyard::runtime
