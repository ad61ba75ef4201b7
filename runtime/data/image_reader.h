// The way of an image's bytes into a batch: augmented if it is for training, then made numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/data/augment.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

class ImageReader {
 public:
  // Of examples of these sizes, {height, width, channels} where they are images. `invalid` where
  // spec.normalize has numbers for other channels, or what is to be augmented is no image.
  static Result<ImageReader> make(const DatasetSpec& spec, std::uint64_t seed,
                                  std::span<const std::int64_t> example);

  // Writes as many numbers as the image has bytes. `position`: of a training example in the line
  // of them; nothing: it is not augmented.
  void read(std::span<const std::uint8_t> pixels, std::optional<std::uint64_t> position,
            float* to) const;

 private:
  ImageReader(Augmentation augmentation, std::vector<float> values)
      : augmentation_(std::move(augmentation)), values_(std::move(values)) {}
  void write(std::span<const std::uint8_t> pixels, float* to) const;

  Augmentation augmentation_;
  std::vector<float> values_;  // [channels x 256], or [256] for all; none: bytes are divided by 255
};

}  // namespace trainyard::runtime
