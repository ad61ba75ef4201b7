#include "runtime/data/image_reader.h"

#include <algorithm>
#include <string>
#include <utility>

namespace trainyard::runtime {
namespace {

constexpr std::size_t byte_values = 256;

// Computed in double and rounded once: plain IEEE operations, the same on every host.
std::vector<float> values_of(const NormalizeSpec& normalize, std::size_t channels) {
  const auto of_channel = [](const std::vector<double>& numbers, std::size_t channel) {
    return numbers.size() == 1 ? numbers[0] : numbers[channel];
  };
  std::vector<float> values;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const double mean = of_channel(normalize.mean, channel);
    const double stddev = of_channel(normalize.stddev, channel);
    for (std::size_t byte = 0; byte < byte_values; ++byte) {
      values.push_back(static_cast<float>((static_cast<double>(byte) / 255.0 - mean) / stddev));
    }
  }
  return values;
}

Status check_numbers(const std::string& field, std::size_t numbers, std::size_t channels) {
  if (numbers == 1 || numbers == channels) return ok();
  return invalid("dataset.normalize." + field + " has " + std::to_string(numbers) +
                 " numbers, but the images have " + std::to_string(channels) +
                 (channels == 1 ? " channel" : " channels"));
}

}  // namespace

Result<ImageReader> ImageReader::make(const DatasetSpec& spec, std::uint64_t seed,
                                      std::span<const std::int64_t> example) {
  const bool is_image = example.size() == 3;
  const auto shape =
      is_image ? ImageShape{.height = example[0], .width = example[1], .channels = example[2]}
               : ImageShape{};
  if (!is_image && !spec.augment.empty()) {
    return invalid("dataset.augment: the examples in " + spec.path + " are no images, they have " +
                   std::to_string(example.size()) + " dimensions");
  }
  std::vector<float> values;
  if (spec.normalize) {
    const auto& [mean, stddev] = *spec.normalize;
    const auto channels = static_cast<std::size_t>(is_image ? shape.channels : 1);
    TRY(check_numbers("mean", mean.size(), channels));
    TRY(check_numbers("stddev", stddev.size(), channels));
    values = values_of(*spec.normalize, std::max(mean.size(), stddev.size()));
  }
  return ImageReader(Augmentation(spec.augment, shape, seed), std::move(values));
}

void ImageReader::read(std::span<const std::uint8_t> pixels, std::optional<std::uint64_t> position,
                       float* to) const {
  if (!position || augmentation_.is_empty()) return write(pixels, to);
  std::vector<std::uint8_t> changed(pixels.begin(), pixels.end());
  augmentation_.apply(*position, changed);
  write(changed, to);
}

void ImageReader::write(std::span<const std::uint8_t> pixels, float* to) const {
  if (values_.empty()) {
    for (std::size_t i = 0; i < pixels.size(); ++i) to[i] = static_cast<float>(pixels[i]) / 255.0F;
    return;
  }
  const std::size_t channels = values_.size() / byte_values;
  for (std::size_t i = 0; i < pixels.size(); i += channels) {
    for (std::size_t channel = 0; channel < channels; ++channel) {
      to[i + channel] = values_[channel * byte_values + pixels[i + channel]];
    }
  }
}

}  // namespace trainyard::runtime
