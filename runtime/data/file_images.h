// Image files as one split of a data set: decoded once and kept where they are few enough, else
// each time they are read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/data_cache.h"
#include "runtime/data/image.h"
#include "runtime/data/image_set.h"

namespace trainyard::runtime {

// How an image is made to be of the data set's size.
enum class ImageFit {
  cover,  // scaled until it covers the size, then its middle
  line,   // scaled to the height, at the left; black pixels fill the width, or it is made narrower
};

struct FileAccess {
  DataCache cache = DataCache();
  std::int64_t threads = 1;  // that decode
};

struct FileImages {
  std::vector<std::string> paths;
  ImageShape shape;
  ImageFit fit = ImageFit::cover;
  FileAccess access;
};

// Without labels.
Result<ImageSplit> open_file_images(FileImages files);

}  // namespace trainyard::runtime
