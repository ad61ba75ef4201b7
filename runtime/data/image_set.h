// Images of bytes with a class each: what IDX files become.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "runtime/data/dataset.h"

namespace trainyard::runtime {

// A byte of a pixel is read as value / 255.
void read_pixels(std::span<const std::uint8_t> pixels, float* to);

struct ImageSplit {
  std::span<const std::uint8_t> pixels;  // [examples x features]
  std::span<const std::uint8_t> labels;  // [examples], below the number of classes
  std::shared_ptr<const void> owner;     // of both
};

class ImageSet final : public Dataset {
 public:
  // How many examples a split has, and where they come from once they are needed.
  struct Part {
    std::int64_t examples = 0;
    std::function<Result<ImageSplit>()> read;
  };

  ImageSet(DataShape shape, Part train, Part test);

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::int64_t size(Split split) const override;
  [[nodiscard]] Status prepare(Split split) const override;

 private:
  [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override;
  DataShape shape_;
  mutable std::mutex preparing_;  // two threads may come to need a split at once
  std::array<Part, 2> parts_;     // by split
  mutable std::array<std::optional<ImageSplit>, 2> read_;  // by split: once it was prepared
};

}  // namespace trainyard::runtime
