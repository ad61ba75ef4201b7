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

}  // namespace

ImageSet::ImageSet(DataShape shape, ImageSplit train, ImageSplit test)
    : shape_(std::move(shape)), train_(std::move(train)), test_(std::move(test)) {
  for (const ImageSplit* const split : {&train_, &test_}) {
    ENSURE(split->pixels.size() ==
           split->labels.size() * static_cast<std::size_t>(shape_.features));
  }
}

const ImageSplit& ImageSet::images(Split split) const {
  return split == Split::train ? train_ : test_;
}

std::int64_t ImageSet::size(Split split) const { return std::ssize(images(split).labels); }

void ImageSet::read(Split split, std::span<const std::int64_t> indices, Batch& batch) const {
  const ImageSplit& source = images(split);
  const auto features = static_cast<std::size_t>(shape_.features);
  batch.examples = std::ssize(indices);
  batch.features.resize(indices.size() * features);
  batch.labels.resize(indices.size());
  batch.targets.clear();
  for (const std::int64_t index : indices) ENSURE(index >= 0 && index < std::ssize(source.labels));
  const auto pixels_of = [&](std::size_t i) {
    return source.pixels.data() + static_cast<std::size_t>(indices[i]) * features;
  };
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (i + 1 < indices.size()) fetch_into_cache(pixels_of(i + 1), features);
    const std::uint8_t* const from = pixels_of(i);
    float* const to = batch.features.data() + i * features;
    for (std::size_t pixel = 0; pixel < features; ++pixel) {
      to[pixel] = static_cast<float>(from[pixel]) / 255.0F;
    }
    batch.labels[i] = source.labels[static_cast<std::size_t>(indices[i])];
  }
}

}  // namespace trainyard::runtime
