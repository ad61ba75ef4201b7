#include "runtime/data/image_set.h"

#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {

ImageSet::ImageSet(DataShape shape, ImageSplit train, ImageSplit test)
    : shape_(std::move(shape)), train_(std::move(train)), test_(std::move(test)) {
  for (const ImageSplit* const split : {&train_, &test_}) {
    ENSURE(split->pixels.size() == split->labels.size() * static_cast<std::size_t>(shape_.features));
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
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto index = static_cast<std::size_t>(indices[i]);
    ENSURE(index < source.labels.size());
    const std::uint8_t* const from = source.pixels.data() + index * features;
    float* const to = batch.features.data() + i * features;
    for (std::size_t pixel = 0; pixel < features; ++pixel) {
      to[pixel] = static_cast<float>(from[pixel]) / 255.0F;
    }
    batch.labels[i] = source.labels[index];
  }
}

}  // namespace trainyard::runtime
