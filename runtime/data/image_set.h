// Images of bytes with a class each, in memory: what IDX files and the synthetic digits both
// become.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/data/dataset.h"

namespace trainyard::runtime {

struct ImageSplit {
  std::vector<std::uint8_t> pixels;  // [examples x features]
  std::vector<std::uint8_t> labels;  // [examples], below the number of classes
};

// Pixels are read as value / 255.
class ImageSet final : public Dataset {
 public:
  ImageSet(DataShape shape, ImageSplit train, ImageSplit test);

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::int64_t size(Split split) const override;
  void read(Split split, std::span<const std::int64_t> indices, Batch& batch) const override;

 private:
  [[nodiscard]] const ImageSplit& images(Split split) const;

  DataShape shape_;
  ImageSplit train_;
  ImageSplit test_;
};

}  // namespace trainyard::runtime
