// A file is believed only as far as its bytes reach: sizes from its header are checked before
// memory is taken for them.
#include "runtime/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/data/data_file.h"
#include "runtime/data/image_set.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t piece_bytes = 1 << 20;
constexpr std::int64_t elements_max = std::int64_t{1} << 36;  // 64 GiB of pixels

struct CloseFile {
  void operator()(gzFile file) const { gzclose_r(file); }
};
using File = std::unique_ptr<gzFile_s, CloseFile>;  // zlib reads plain files too

Error bad_file(const std::string& path, const std::string& what) {
  return invalid("dataset: " + path + " " + what);
}

// zlib puts the path that it was given before its words: "incorrect data check".
std::string without_path(std::string_view message) {
  const std::size_t end = message.find(": ");
  return std::string(end == std::string_view::npos ? message : message.substr(end + 2));
}

// Up to `size` bytes are appended; fewer at the end of the file.
Status append_bytes(gzFile file, const std::string& path, std::size_t size,
                    std::vector<std::uint8_t>& bytes) {
  while (size > 0) {
    const std::size_t piece = std::min(size, piece_bytes);
    const std::size_t before = bytes.size();
    bytes.resize(before + piece);
    const int got = gzread(file, bytes.data() + before, static_cast<unsigned>(piece));
    bytes.resize(before + static_cast<std::size_t>(std::max(0, got)));
    int code = Z_OK;
    const char* const message = gzerror(file, &code);
    if (code == Z_BUF_ERROR) return bad_file(path, "is truncated: its gzip stream has no end");
    if (code == Z_ERRNO)
      return bad_file(path, std::string("cannot be read: ") + std::strerror(errno));
    if (got < 0 || code < Z_OK) {
      return bad_file(path, "is damaged, its gzip stream has a fault: " + without_path(message));
    }
    if (got == 0) return ok();
    size -= static_cast<std::size_t>(got);
  }
  return ok();
}

std::int64_t big_endian(std::span<const std::uint8_t> bytes) {
  std::int64_t value = 0;
  for (const std::uint8_t byte : bytes) value = value << 8 | byte;
  return value;
}

// Bytes 0 0 8 r (unsigned bytes, rank r), then r sizes of 32 bits.
Result<std::vector<std::int64_t>> read_header(gzFile file, const std::string& path) {
  std::vector<std::uint8_t> magic;
  TRY(append_bytes(file, path, 4, magic));
  if (magic.size() < 4) return bad_file(path, "is truncated: it ends within its header");
  if (magic[0] != 0 || magic[1] != 0) return bad_file(path, "is no IDX file (bad magic number)");
  if (magic[2] != 8) {
    return bad_file(path, "holds no unsigned bytes (IDX type 8), the only elements that are read");
  }
  const std::size_t rank = magic[3];
  if (rank < 1 || rank > 4) return bad_file(path, "does not have 1 to 4 dimensions");
  std::vector<std::uint8_t> sizes;
  TRY(append_bytes(file, path, 4 * rank, sizes));
  if (sizes.size() < 4 * rank) return bad_file(path, "is truncated: it ends within its header");
  std::vector<std::int64_t> shape;
  std::int64_t elements = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t size = big_endian(std::span(sizes).subspan(4 * axis, 4));
    if (size < 1) return bad_file(path, "is empty: one of its dimensions is 0");
    if (size > elements_max / elements) return bad_file(path, "claims more than 2^36 elements");
    elements *= size;
    shape.push_back(size);
  }
  return shape;
}

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) elements *= size;
  return elements;
}

// An open IDX file, its header read.
struct IdxFile {
  std::string path;
  File file;
  std::vector<std::int64_t> shape;
  std::uintmax_t bytes = 0;  // of the file, as it is stored
};

Result<IdxFile> open_file(const std::string& path) {
  TRY_ASSIGN(const Descriptor opened, open_data_file("dataset.path", path));
  File file(gzopen(path_of(opened).c_str(), "rb"));
  if (file == nullptr)
    return not_found("dataset: cannot open " + path + ": " + std::strerror(errno));
  TRY_ASSIGN(auto shape, read_header(file.get(), path));
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path_of(opened), error);
  return IdxFile{.path = path, .file = std::move(file), .shape = std::move(shape), .bytes = bytes};
}

Status check_length(const std::string& path, std::size_t expected, std::size_t found) {
  if (found > expected) return bad_file(path, "is longer than its header says");
  if (found == expected) return ok();
  return bad_file(path, "is truncated: its header promises more than the " + std::to_string(found) +
                            " bytes of data that it has");
}

// Of one that is not compressed: what the header promises, without reading it.
Status check_length(const IdxFile& idx) {
  const std::size_t header = 4 + 4 * idx.shape.size();
  if (gzdirect(idx.file.get()) == 0 || idx.bytes < header) return ok();
  return check_length(idx.path, static_cast<std::size_t>(product(idx.shape)), idx.bytes - header);
}

// What follows the header, whole.
Result<std::vector<std::uint8_t>> read_elements(const IdxFile& idx) {
  const auto expected = static_cast<std::size_t>(product(idx.shape));
  std::vector<std::uint8_t> bytes;
  TRY(append_bytes(idx.file.get(), idx.path, expected + 1, bytes));
  TRY(check_length(idx.path, expected, bytes.size()));
  return bytes;
}

Result<std::string> find_file(const std::string& folder, const std::string& name) {
  for (const char* const ending : {"", ".gz"}) {
    const std::filesystem::path path = std::filesystem::path(folder) / (name + ending);
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) return path.string();
  }
  return not_found("dataset.path: no " + name + " or " + name + ".gz in the folder " + folder);
}

struct SplitFiles {
  std::string prefix;  // "train", "t10k"
  std::string field;   // of the spec, for messages
  std::int64_t examples_wanted = 0;
};

// That they belong together, by their headers alone: a header may claim what is gigabytes once it
// is unpacked.
Status check_pair(const IdxFile& images, const IdxFile& labels) {
  if (images.shape.size() < 2)
    return bad_file(images.path, "holds no images: it has one dimension");
  if (labels.shape.size() != 1) {
    return bad_file(labels.path, "holds no labels: it has more than one dimension");
  }
  if (images.shape[0] == labels.shape[0]) return check_length(labels);
  return bad_file(labels.path, "has " + std::to_string(labels.shape[0]) + " labels for the " +
                                   std::to_string(images.shape[0]) + " images of " + images.path);
}

// A split as far as its headers and labels tell it.
struct SplitHead {
  std::string images_path;
  std::vector<std::int64_t> shape;  // of the file of images
  std::shared_ptr<const std::vector<std::uint8_t>> labels;
  std::uint8_t largest = 0;  // label

  [[nodiscard]] std::span<const std::int64_t> example() const {
    return std::span(shape).subspan(1);
  }
};

Result<SplitHead> read_head(const std::string& folder, const SplitFiles& files) {
  TRY_ASSIGN(const std::string images_path, find_file(folder, files.prefix + "-images-idx3-ubyte"));
  TRY_ASSIGN(const std::string labels_path, find_file(folder, files.prefix + "-labels-idx1-ubyte"));
  TRY_ASSIGN(const IdxFile images, open_file(images_path));
  TRY(check_length(images));
  TRY_ASSIGN(const IdxFile labels, open_file(labels_path));
  TRY(check_pair(images, labels));
  const std::int64_t wanted = files.examples_wanted == 0 ? labels.shape[0] : files.examples_wanted;
  if (wanted < 0 || wanted > labels.shape[0]) {
    return invalid("dataset." + files.field + " is " + std::to_string(wanted) + ", but " +
                   images_path + " holds " + std::to_string(labels.shape[0]) + " examples");
  }
  TRY_ASSIGN(std::vector<std::uint8_t> numbers, read_elements(labels));
  numbers.resize(static_cast<std::size_t>(wanted));
  SplitHead head{.images_path = images_path, .shape = images.shape, .labels = nullptr};
  head.largest = std::ranges::max(numbers);
  head.labels = std::make_shared<const std::vector<std::uint8_t>>(std::move(numbers));
  return head;
}

// The images of the split, of which there may be more than are wanted.
Result<ImageSplit> read_images(const SplitHead& head, const DataCache& cache) {
  const auto decode = [&head]() -> Result<DecodedData> {
    TRY_ASSIGN(const IdxFile images, open_file(head.images_path));
    if (images.shape != head.shape) {
      return bad_file(head.images_path, "was replaced while the training ran");
    }
    TRY_ASSIGN(std::vector<std::uint8_t> pixels, read_elements(images));
    return decoded_data({}, std::move(pixels));
  };
  const auto expected = static_cast<std::size_t>(product(head.shape));
  const auto is_sound = [expected](const DecodedData& data) {
    return data.arrays.size() == 1 && data.arrays.front().size() == expected;
  };
  TRY_ASSIGN(DecodedData data,
             cache.get({.reader = "idx 1", .files = {head.images_path}}, decode, is_sound));
  const std::size_t wanted =
      head.labels->size() * static_cast<std::size_t>(product(head.example()));
  return ImageSplit{.pixels = array_of<std::uint8_t>(data, 0).first(wanted),
                    .labels = {head.labels->begin(), head.labels->end()},
                    .owner = std::move(data.owner)};
}

ImageSet::Part part_of(SplitHead head, const DataCache& cache) {
  const std::int64_t examples = std::ssize(*head.labels);
  return {.examples = examples,
          .read = [head = std::move(head), cache] { return read_images(head, cache); }};
}

// Images of two dimensions have one channel.
std::vector<std::int64_t> example_of(const SplitHead& head) {
  const auto sizes = head.example();
  if (sizes.size() == 2) return {sizes[0], sizes[1], 1};
  return {sizes.begin(), sizes.end()};
}

std::string to_text(std::span<const std::int64_t> shape) {
  std::string text;
  for (const std::int64_t size : shape) {
    if (!text.empty()) text += 'x';
    text += std::to_string(size);
  }
  return text;
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_idx(const DatasetSpec& spec, std::uint64_t seed,
                                          const DataCache& cache) {
  TRY_ASSIGN(SplitHead train, read_head(spec.path, {.prefix = "train",
                                                    .field = "train_examples",
                                                    .examples_wanted = spec.train_examples}));
  TRY_ASSIGN(SplitHead test, read_head(spec.path, {.prefix = "t10k",
                                                   .field = "test_examples",
                                                   .examples_wanted = spec.test_examples}));
  if (!std::ranges::equal(train.example(), test.example())) {
    return invalid("dataset: in " + spec.path + " the training images are " +
                   to_text(train.example()) + ", the test images " + to_text(test.example()));
  }
  const std::uint8_t largest = std::max(train.largest, test.largest);
  if (largest == 0)
    return invalid("dataset: in " + spec.path + " all labels are 0: one class only");
  DataShape shape{
      .example = example_of(train), .features = product(train.example()), .classes = largest + 1};
  TRY_ASSIGN(ImageReader reader, ImageReader::make(spec, seed, shape.example));
  std::array<ImageSet::Part, 2> parts{part_of(std::move(train), cache),
                                      part_of(std::move(test), cache)};
  return std::unique_ptr<Dataset>(
      std::make_unique<ImageSet>(std::move(shape), std::move(reader), std::move(parts)));
}

}  // namespace trainyard::runtime
