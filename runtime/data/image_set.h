// Images of bytes with a class each: what IDX files, CIFAR files and folders of images become.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "runtime/data/dataset.h"
#include "runtime/data/image_reader.h"

namespace trainyard::runtime {

struct ImageSplit {
  // Writes the bytes of one example. Thread-safe.
  using Decode = std::function<Status(std::int64_t index, std::span<std::uint8_t> to)>;

  std::span<const std::uint8_t> pixels;  // [examples x features]; none: decoded at each read
  Decode decode = {};                    // where there are no pixels
  std::vector<std::int32_t> labels;      // [examples], below the number of classes
  std::shared_ptr<const void> owner;     // of the pixels
};

class ImageSet final : public Dataset {
 public:
  // How many examples a split has, and where they come from once they are needed.
  struct Part {
    std::int64_t examples = 0;
    std::function<Result<ImageSplit>()> read;
  };

  // `threads` is how many decode a batch, where that is done at each read.
  ImageSet(DataShape shape, ImageReader reader, std::array<Part, 2> parts,
           std::int64_t threads = 1);

  [[nodiscard]] const DataShape& shape() const override { return shape_; }
  [[nodiscard]] std::int64_t size(Split split) const override;
  [[nodiscard]] Status prepare(Split split) const override;

 private:
  [[nodiscard]] Status fill(const Selection& selection, Batch& batch) const override;
  DataShape shape_;
  ImageReader reader_;
  std::int64_t threads_;
  mutable std::mutex preparing_;  // two threads may come to need a split at once
  std::array<Part, 2> parts_;     // by split
  mutable std::array<std::optional<ImageSplit>, 2> read_;  // by split: once it was prepared
};

}  // namespace trainyard::runtime
