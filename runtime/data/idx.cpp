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
#include <utility>
#include <vector>

#include "runtime/data/image_set.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t piece_bytes = 1 << 20;
constexpr std::int64_t elements_max = std::int64_t{1} << 36;  // 64 GiB of pixels

struct CloseFile {
  void operator()(gzFile file) const { gzclose_r(file); }
};
using File = std::unique_ptr<gzFile_s, CloseFile>;  // zlib reads plain files too

struct IdxArray {
  std::vector<std::int64_t> shape;
  std::vector<std::uint8_t> bytes;
};

Error bad_file(const std::string& path, const std::string& what) {
  return invalid("dataset: " + path + " " + what);
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
    if (got < 0 || code < Z_OK) {
      const bool system = code == Z_ERRNO;
      return bad_file(path,
                      std::string("cannot be read: ") + (system ? std::strerror(errno) : message));
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
    return bad_file(path, "holds elements of IDX type " + std::to_string(magic[2]) +
                              ", only unsigned bytes (8) are read");
  }
  const std::size_t rank = magic[3];
  if (rank < 1 || rank > 4) return bad_file(path, "has " + std::to_string(rank) + " dimensions");
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

Result<IdxArray> read_idx(const std::string& path) {
  const File file(gzopen(path.c_str(), "rb"));
  if (file == nullptr)
    return not_found("dataset: cannot open " + path + ": " + std::strerror(errno));
  IdxArray array;
  TRY_ASSIGN(array.shape, read_header(file.get(), path));
  const auto expected = static_cast<std::size_t>(product(array.shape));
  TRY(append_bytes(file.get(), path, expected + 1, array.bytes));
  if (array.bytes.size() > expected) return bad_file(path, "is longer than its header says");
  if (array.bytes.size() < expected) {
    return bad_file(path, "is truncated: its header promises " + std::to_string(expected) +
                              " bytes of data, it has " + std::to_string(array.bytes.size()));
  }
  return array;
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

struct LabelledImages {
  std::vector<std::int64_t> example_shape;
  ImageSplit images;
};

Result<LabelledImages> read_split(const std::string& folder, const SplitFiles& files) {
  TRY_ASSIGN(const std::string images_path, find_file(folder, files.prefix + "-images-idx3-ubyte"));
  TRY_ASSIGN(const std::string labels_path, find_file(folder, files.prefix + "-labels-idx1-ubyte"));
  TRY_ASSIGN(IdxArray images, read_idx(images_path));
  TRY_ASSIGN(IdxArray labels, read_idx(labels_path));
  if (images.shape.size() < 2)
    return bad_file(images_path, "holds no images: it has one dimension");
  if (labels.shape.size() != 1) {
    return bad_file(labels_path, "holds no labels: it has more than one dimension");
  }
  if (images.shape[0] != labels.shape[0]) {
    return bad_file(labels_path, "has " + std::to_string(labels.shape[0]) + " labels for the " +
                                     std::to_string(images.shape[0]) + " images of " + images_path);
  }
  const std::int64_t wanted = files.examples_wanted == 0 ? labels.shape[0] : files.examples_wanted;
  if (wanted < 0 || wanted > labels.shape[0]) {
    return invalid("dataset." + files.field + " is " + std::to_string(wanted) + ", but " +
                   images_path + " holds " + std::to_string(labels.shape[0]) + " examples");
  }
  LabelledImages split;
  split.example_shape.assign(images.shape.begin() + 1, images.shape.end());
  images.bytes.resize(static_cast<std::size_t>(wanted * product(split.example_shape)));
  labels.bytes.resize(static_cast<std::size_t>(wanted));
  split.images = {.pixels = std::move(images.bytes), .labels = std::move(labels.bytes)};
  return split;
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

Result<std::unique_ptr<Dataset>> open_idx(const DatasetSpec& spec) {
  TRY_ASSIGN(LabelledImages train, read_split(spec.path, {.prefix = "train",
                                                          .field = "train_examples",
                                                          .examples_wanted = spec.train_examples}));
  TRY_ASSIGN(LabelledImages test, read_split(spec.path, {.prefix = "t10k",
                                                         .field = "test_examples",
                                                         .examples_wanted = spec.test_examples}));
  if (train.example_shape != test.example_shape) {
    return invalid("dataset: in " + spec.path + " the training images are " +
                   to_text(train.example_shape) + ", the test images " +
                   to_text(test.example_shape));
  }
  const std::uint8_t largest =
      std::max(std::ranges::max(train.images.labels), std::ranges::max(test.images.labels));
  if (largest == 0)
    return invalid("dataset: in " + spec.path + " all labels are 0: one class only");
  DataShape shape{.example = train.example_shape,
                  .features = product(train.example_shape),
                  .classes = largest + 1};
  return std::unique_ptr<Dataset>(std::make_unique<ImageSet>(
      std::move(shape), std::move(train.images), std::move(test.images)));
}

}  // namespace trainyard::runtime
