// What a job asks of the images of its data set on their way into a batch.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

namespace trainyard {

// A byte b of a pixel becomes (b / 255 - mean) / stddev. A number for each channel, or one for all.
struct NormalizeSpec {
  std::vector<double> mean;
  std::vector<double> stddev;
  bool operator==(const NormalizeSpec&) const = default;
};

enum class ImageAxis { height, width };

// Black pixels all around the image, then a window of the image's size anywhere in it.
struct CropSpec {
  std::int64_t padding = 4;
  bool operator==(const CropSpec&) const = default;
};

// Every other image is turned around: its columns (width) or its rows.
struct FlipSpec {
  ImageAxis axis = ImageAxis::width;
  bool operator==(const FlipSpec&) const = default;
};

// A window of such a share of the image's area, stretched to its size. Its sides are between 3:4
// and 4:3.
struct RandomResizedCropSpec {
  double scale_least = 0.08;
  double scale_most = 1.0;
  bool operator==(const RandomResizedCropSpec&) const = default;
};

// A black square with its middle anywhere in the image (DeVries and Taylor 2017).
struct CutoutSpec {
  std::int64_t size = 8;  // pixels of a side
  bool operator==(const CutoutSpec&) const = default;
};

// All bytes times a number between 1 - amount and 1 + amount.
struct BrightnessSpec {
  double amount = 0.2;
  bool operator==(const BrightnessSpec&) const = default;
};

using AugmentSpec =
    std::variant<CropSpec, FlipSpec, RandomResizedCropSpec, CutoutSpec, BrightnessSpec>;

// Whether a data set of this format is one of images, with a class or a text each.
constexpr bool has_images(std::string_view format) {
  return format == "synthetic_digits" || format == "idx" || format == "cifar" ||
         format == "image_folder" || format == "image_lines" || format == "synthetic_lines";
}

// Whether a data set of this format needs no files.
constexpr bool is_synthetic(std::string_view format) {
  return format == "synthetic_digits" || format == "synthetic_lines";
}

// Which of the two labels of a CIFAR-100 example: of 100 or of 20 classes.
enum class CifarLabels { fine, coarse };

}  // namespace trainyard
