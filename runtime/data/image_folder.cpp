#include "runtime/data/image_folder.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/data/class_folders.h"
#include "runtime/data/image_file.h"
#include "runtime/data/image_set.h"
#include "runtime/data/places.h"
#include "runtime/data/resample.h"

namespace trainyard::runtime {
namespace {

// Decoded at once and kept, a split has at most so many bytes: in a cache of the host's, and in
// memory where there is none.
constexpr std::int64_t kept_bytes_max = std::int64_t{512} << 20;
constexpr std::int64_t kept_in_memory_max = std::int64_t{64} << 20;

bool is_image_name(std::string_view name) {
  std::string ending(name.substr(std::min(name.size(), name.rfind('.'))));
  std::ranges::transform(ending, ending.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg" || ending == ".pgm" ||
         ending == ".ppm";
}

struct FolderSplit {
  std::vector<ListedFile> files;
  ImageShape shape;
  FolderAccess access;
};

Status decode_to(const ListedFile& file, const ImageShape& shape, std::span<std::uint8_t> to) {
  TRY_ASSIGN(const Image image, read_image_file("dataset.path", file.path, shape.channels));
  const auto made = resample(image.pixels, image.shape, middle_window(image.shape, shape), shape);
  std::ranges::copy(made, to.begin());
  return ok();
}

Result<DecodedData> decode_all(const FolderSplit& split) {
  const std::size_t bytes = split.shape.bytes();
  std::vector<std::uint8_t> pixels(split.files.size() * bytes);
  TRY(for_each_place(std::ssize(split.files), split.access.threads, [&](std::int64_t place) {
    const auto i = static_cast<std::size_t>(place);
    return decode_to(split.files[i], split.shape, std::span(pixels).subspan(i * bytes, bytes));
  }));
  return decoded_data({}, std::move(pixels));
}

bool is_kept(const FolderSplit& split) {
  const std::int64_t room = split.access.cache.bytes_max();
  const std::int64_t most = room > 0 ? std::min(kept_bytes_max, room) : kept_in_memory_max;
  return std::ssize(split.files) <= most / static_cast<std::int64_t>(split.shape.bytes());
}

Result<ImageSplit> open_split(const std::shared_ptr<const FolderSplit>& split) {
  ImageSplit opened;
  for (const ListedFile& file : split->files) opened.labels.push_back(file.label);
  if (!is_kept(*split)) {
    opened.decode = [split](std::int64_t index, std::span<std::uint8_t> to) {
      return decode_to(split->files[static_cast<std::size_t>(index)], split->shape, to);
    };
    return opened;
  }
  const ImageShape& shape = split->shape;
  DataCache::Source source{.reader = "image_folder 1, " + std::to_string(shape.height) + " x " +
                                     std::to_string(shape.width) + " x " +
                                     std::to_string(shape.channels),
                           .files = {}};
  for (const ListedFile& file : split->files) source.files.push_back(file.path);
  const std::size_t expected = split->files.size() * shape.bytes();
  const auto is_sound = [expected](const DecodedData& data) {
    return data.arrays.size() == 1 && data.arrays.front().size() == expected;
  };
  TRY_ASSIGN(DecodedData data, split->access.cache.get(
                                   source, [&split] { return decode_all(*split); }, is_sound));
  opened.pixels = array_of<std::uint8_t>(data, 0);
  opened.owner = std::move(data.owner);
  return opened;
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_image_folder(const DatasetSpec& spec, std::uint64_t seed,
                                                   const FolderAccess& access) {
  TRY_ASSIGN(ClassFolders files,
             list_class_folders(spec, seed, {.kind = "image", .is_wanted = is_image_name}));
  const ImageShape image{.height = spec.height, .width = spec.width, .channels = spec.channels};
  DataShape shape{.example = {image.height, image.width, image.channels},
                  .features = static_cast<std::int64_t>(image.bytes()),
                  .classes = std::ssize(files.classes)};
  TRY_ASSIGN(ImageReader reader, ImageReader::make(spec, seed, shape.example));
  std::array<ImageSet::Part, 2> parts;
  for (std::size_t split = 0; split < 2; ++split) {
    const auto source = std::make_shared<const FolderSplit>(
        FolderSplit{.files = std::move(files.splits[split]), .shape = image, .access = access});
    parts[split] = {.examples = std::ssize(source->files),
                    .read = [source] { return open_split(source); }};
  }
  return std::unique_ptr<Dataset>(std::make_unique<ImageSet>(std::move(shape), std::move(reader),
                                                             std::move(parts), access.threads));
}

}  // namespace trainyard::runtime
