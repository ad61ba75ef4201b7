#include "runtime/data/image_folder.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/data/class_folders.h"

namespace trainyard::runtime {
namespace {

bool is_image_name(std::string_view name) {
  std::string ending(name.substr(std::min(name.size(), name.rfind('.'))));
  std::ranges::transform(ending, ending.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg" || ending == ".pgm" ||
         ending == ".ppm";
}

struct FolderSplit {
  FileImages images;
  std::vector<std::int32_t> labels;
};

FolderSplit split_of(const std::vector<ListedFile>& files, const ImageShape& shape,
                     const FileAccess& access) {
  FolderSplit split{
      .images = {.paths = {}, .shape = shape, .fit = ImageFit::cover, .access = access},
      .labels = {}};
  for (const ListedFile& file : files) {
    split.images.paths.push_back(file.path);
    split.labels.push_back(file.label);
  }
  return split;
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_image_folder(const DatasetSpec& spec, std::uint64_t seed,
                                                   const FileAccess& access) {
  TRY_ASSIGN(const ClassFolders folders,
             list_class_folders(spec, seed, {.kind = "image", .is_wanted = is_image_name}));
  const ImageShape image{.height = spec.height, .width = spec.width, .channels = spec.channels};
  DataShape shape{.example = {image.height, image.width, image.channels},
                  .features = static_cast<std::int64_t>(image.bytes()),
                  .classes = std::ssize(folders.classes),
                  .class_names = folders.classes};
  TRY_ASSIGN(ImageReader reader, ImageReader::make(spec, seed, shape.example));
  std::array<ImageSet::Part, 2> parts;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto split =
        std::make_shared<const FolderSplit>(split_of(folders.splits[i], image, access));
    parts[i] = {.examples = std::ssize(split->labels), .read = [split]() -> Result<ImageSplit> {
                  TRY_ASSIGN(ImageSplit opened, open_file_images(split->images));
                  opened.labels = split->labels;
                  return opened;
                }};
  }
  return std::unique_ptr<Dataset>(std::make_unique<ImageSet>(std::move(shape), std::move(reader),
                                                             std::move(parts), access.threads));
}

}  // namespace trainyard::runtime
