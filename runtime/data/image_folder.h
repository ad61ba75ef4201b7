// Folders of image files, a folder for each class.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/data/dataset.h"
#include "runtime/data/file_images.h"
#include "schemas/base/result.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// spec.path is a folder with train/<class>/<image> and test/<class>/<image>, or where it has no
// folder train, with <class>/<image>, of which a share is the test. Classes are the folders' names
// in the order of their bytes; images are files that end in .png, .jpg, .jpeg, .pgm or .ppm, in any
// case; other files, and names that begin with a dot, are passed over. Every image is made
// [spec.height, spec.width, spec.channels]: scaled until it covers that, then its middle.
//
// To open it lists the folders. Decoded images are kept where all of a split are few enough;
// otherwise an image is decoded each time it is read, and what is wrong with it is said then.
Result<std::unique_ptr<Dataset>> open_image_folder(const DatasetSpec& spec, std::uint64_t seed,
                                                   const FileAccess& access = {});

}  // namespace trainyard::runtime
