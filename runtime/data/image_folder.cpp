#include "runtime/data/image_folder.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/data/folder_listing.h"
#include "runtime/data/image_file.h"
#include "runtime/data/image_set.h"
#include "runtime/data/places.h"
#include "runtime/data/resample.h"
#include "runtime/data/row_split.h"

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

struct FolderFiles {
  std::vector<std::string> classes;
  std::array<std::vector<ListedFile>, 2> splits;  // by split
};

Status check_classes(const FolderListing& listing, const std::string& path) {
  if (listing.classes.size() > 1) return ok();
  return invalid("dataset.path: " + path + " has one class only, the folder " +
                 listing.classes.front());
}

// Of train/ and test/: both have the classes of train/.
Result<FolderFiles> list_two(const DatasetSpec& spec) {
  TRY_ASSIGN(FolderListing train,
             list_classes("dataset.path", spec.path + "/train", is_image_name));
  TRY(check_classes(train, spec.path + "/train"));
  TRY_ASSIGN(FolderListing test, list_classes("dataset.path", spec.path + "/test", is_image_name));
  std::vector<std::int32_t> labels;
  for (const std::string& name : test.classes) {
    const auto found = std::ranges::lower_bound(train.classes, name);
    if (found == train.classes.end() || *found != name) {
      return invalid("dataset.path: the class " + spec.path + "/test/" + name +
                     " is not one of those in " + spec.path + "/train");
    }
    labels.push_back(static_cast<std::int32_t>(found - train.classes.begin()));
  }
  for (ListedFile& file : test.files) file.label = labels[static_cast<std::size_t>(file.label)];
  return FolderFiles{.classes = std::move(train.classes),
                     .splits = {std::move(train.files), std::move(test.files)}};
}

std::vector<ListedFile> take(const std::vector<ListedFile>& files,
                             const std::vector<std::int64_t>& rows) {
  std::vector<ListedFile> taken;
  for (const std::int64_t row : rows) taken.push_back(files[static_cast<std::size_t>(row)]);
  return taken;
}

std::vector<std::int64_t> all_rows(const std::vector<ListedFile>& files) {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < std::ssize(files); ++row) rows.push_back(row);
  return rows;
}

Result<FolderFiles> list_files(const DatasetSpec& spec, std::uint64_t seed) {
  FolderFiles files;
  SplitRows rows;
  if (is_folder(spec.path + "/train")) {
    TRY_ASSIGN(files, list_two(spec));
    rows = {.train = all_rows(files.splits[0]), .test = all_rows(files.splits[1])};
  } else {
    TRY_ASSIGN(FolderListing listing, list_classes("dataset.path", spec.path, is_image_name));
    TRY(check_classes(listing, spec.path));
    TRY_ASSIGN(rows, split_rows(spec, seed, std::ssize(listing.files)));
    files = {.classes = std::move(listing.classes), .splits = {listing.files, listing.files}};
  }
  TRY(keep_drawn_rows(spec, seed, rows));
  files.splits = {take(files.splits[0], rows.train), take(files.splits[1], rows.test)};
  return files;
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_image_folder(const DatasetSpec& spec, std::uint64_t seed,
                                                   const FolderAccess& access) {
  TRY_ASSIGN(FolderFiles files, list_files(spec, seed));
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
