#include "runtime/data/cifar.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/data/data_file.h"
#include "runtime/data/image_set.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t image_side = 32;
constexpr std::size_t plane_bytes = image_side * image_side;
constexpr std::size_t planes_of_image = 3;
constexpr std::size_t cifar_image_bytes = plane_bytes * planes_of_image;
constexpr std::int64_t batches_max = 100;
constexpr std::int64_t cifar_examples_max = 10'000'000;  // 29 GiB of pixels

// What of an example's bytes is its label, and what comes before its image.
struct CifarLayout {
  std::size_t label_bytes = 1;
  std::size_t label_place = 0;
  std::int64_t classes = 10;
  std::string name;  // of the labels, for the cache

  [[nodiscard]] std::size_t example_bytes() const { return label_bytes + cifar_image_bytes; }
};

Error bad_cifar(const std::string& path, const std::string& what) {
  return invalid("dataset: " + path + " " + what);
}

bool is_there(const std::string& folder, const std::string& name) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::path(folder) / name, ignored);
}

struct CifarFiles {
  CifarLayout layout;
  std::array<std::vector<std::string>, 2> paths;  // by split
};

std::string batch_name(std::int64_t number) {
  return "data_batch_" + std::to_string(number) + ".bin";
}

// data_batch_1.bin and on, without a gap.
Result<std::vector<std::string>> training_batches(const std::string& folder) {
  std::vector<std::string> paths;
  std::int64_t missing = 0;
  for (std::int64_t number = 1; number <= batches_max; ++number) {
    if (!is_there(folder, batch_name(number))) {
      if (missing == 0) missing = number;
      continue;
    }
    if (missing > 0) {
      return not_found("dataset.path: " + folder + " has " + batch_name(number) + ", but no " +
                       batch_name(missing));
    }
    paths.push_back(folder + "/" + batch_name(number));
  }
  return paths;
}

Result<CifarFiles> find_files(const DatasetSpec& spec) {
  CifarFiles files;
  TRY_ASSIGN(files.paths[0], training_batches(spec.path));
  if (!files.paths[0].empty()) {
    if (spec.labels == CifarLabels::coarse) {
      return invalid("dataset.labels is coarse, but " + spec.path +
                     " holds CIFAR-10, which has one label for each image");
    }
    files.paths[1] = {spec.path + "/test_batch.bin"};
    files.layout.name = "cifar 1, 10 classes";
    return files;
  }
  if (!is_there(spec.path, "train.bin")) {
    return not_found("dataset.path: no data_batch_1.bin (CIFAR-10) and no train.bin (CIFAR-100) " +
                     std::string("in the folder ") + spec.path);
  }
  files.paths = {std::vector{spec.path + "/train.bin"}, std::vector{spec.path + "/test.bin"}};
  const bool is_fine = spec.labels == CifarLabels::fine;
  files.layout = {.label_bytes = 2,
                  .label_place = is_fine ? 1U : 0U,
                  .classes = is_fine ? 100 : 20,
                  .name = is_fine ? "cifar 1, 100 classes" : "cifar 1, 20 classes"};
  return files;
}

// CifarExamples of one file, by its length.
Result<std::int64_t> count_examples(const std::string& path, const CifarLayout& layout) {
  TRY_ASSIGN(const Descriptor opened, open_data_file("dataset.path", path));
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path_of(opened), error);
  if (error) return bad_cifar(path, "cannot be looked at: " + error.message());
  if (bytes == 0) return bad_cifar(path, "is empty");
  if (bytes % layout.example_bytes() != 0) {
    return bad_cifar(path, "is truncated or no CIFAR file: its " + std::to_string(bytes) +
                               " bytes are not whole examples of " +
                               std::to_string(layout.example_bytes()));
  }
  return static_cast<std::int64_t>(bytes / layout.example_bytes());
}

// A split as far as the lengths of its files tell it.
struct CifarSplit {
  CifarLayout layout;
  std::vector<std::string> paths;
  std::vector<std::int64_t> counts;  // of examples, by file
  std::int64_t there = 0;            // in all of them
  std::int64_t wanted = 0;           // the first so many
};

Result<CifarSplit> measure(const CifarFiles& files, Split split, const DatasetSpec& spec) {
  const bool is_train = split == Split::train;
  CifarSplit found{.layout = files.layout, .paths = files.paths[is_train ? 0 : 1], .counts = {}};
  for (const std::string& path : found.paths) {
    TRY_ASSIGN(const std::int64_t count, count_examples(path, files.layout));
    found.counts.push_back(count);
    found.there += count;
    if (found.there > cifar_examples_max) return bad_cifar(path, "is beyond 10000000 examples");
  }
  const std::int64_t asked = is_train ? spec.train_examples : spec.test_examples;
  found.wanted = asked == 0 ? found.there : asked;
  if (found.wanted >= 0 && found.wanted <= found.there) return found;
  return invalid("dataset." + std::string(is_train ? "train_examples" : "test_examples") + " is " +
                 std::to_string(asked) + ", but " + found.paths.front() +
                 (found.paths.size() > 1 ? " and its like hold " : " holds ") +
                 std::to_string(found.there) + " examples");
}

// Three planes become pixels of three bytes.
void interleave(const std::uint8_t* planes, std::uint8_t* pixels) {
  for (std::size_t i = 0; i < plane_bytes; ++i) {
    for (std::size_t channel = 0; channel < planes_of_image; ++channel) {
      *pixels++ = planes[channel * plane_bytes + i];
    }
  }
}

struct CifarExamples {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> labels;
};

Status append_file(const std::string& path, std::int64_t count, const CifarLayout& layout,
                   CifarExamples& examples) {
  TRY_ASSIGN(const Descriptor opened, open_data_file("dataset.path", path));
  std::ifstream file(path_of(opened), std::ios::binary);
  std::vector<std::uint8_t> bytes(layout.example_bytes());
  for (std::int64_t i = 0; i < count; ++i) {
    file.read(reinterpret_cast<char*>(bytes.data()), std::ssize(bytes));
    if (!file) return bad_cifar(path, "ends within example " + std::to_string(i));
    const std::uint8_t label = bytes[layout.label_place];
    if (label >= layout.classes) {
      return bad_cifar(path, "has label " + std::to_string(label) + " at example " +
                                 std::to_string(i) + " (counted from 0), but " +
                                 std::to_string(layout.classes) + " classes");
    }
    examples.labels.push_back(label);
    examples.pixels.resize(examples.pixels.size() + cifar_image_bytes);
    interleave(bytes.data() + layout.label_bytes,
               examples.pixels.data() + examples.pixels.size() - cifar_image_bytes);
  }
  return ok();
}

Result<ImageSplit> read_cifar(const CifarSplit& files, const DataCache& cache) {
  const auto decode = [&files]() -> Result<DecodedData> {
    CifarExamples examples;
    examples.pixels.reserve(static_cast<std::size_t>(files.there) * cifar_image_bytes);
    for (std::size_t i = 0; i < files.paths.size(); ++i) {
      TRY(append_file(files.paths[i], files.counts[i], files.layout, examples));
    }
    return decoded_data({}, std::move(examples.pixels), std::move(examples.labels));
  };
  const auto there = static_cast<std::size_t>(files.there);
  const auto is_class = [&files](std::int32_t label) {
    return label >= 0 && label < files.layout.classes;
  };
  const auto is_sound = [&](const DecodedData& data) {
    const auto labels = array_of<std::int32_t>(data, 1);
    return array_of<std::uint8_t>(data, 0).size() == there * cifar_image_bytes &&
           labels.size() == there && std::ranges::all_of(labels, is_class);
  };
  TRY_ASSIGN(DecodedData data,
             cache.get({.reader = files.layout.name, .files = files.paths}, decode, is_sound));
  const auto wanted = static_cast<std::size_t>(files.wanted);
  const auto labels = array_of<std::int32_t>(data, 1).first(wanted);
  return ImageSplit{.pixels = array_of<std::uint8_t>(data, 0).first(wanted * cifar_image_bytes),
                    .labels = {labels.begin(), labels.end()},
                    .owner = std::move(data.owner)};
}

ImageSet::Part part_of(CifarSplit files, const DataCache& cache) {
  const std::int64_t examples = files.wanted;
  return {.examples = examples,
          .read = [files = std::move(files), cache] { return read_cifar(files, cache); }};
}

}  // namespace

Result<std::unique_ptr<Dataset>> open_cifar(const DatasetSpec& spec, std::uint64_t seed,
                                            const DataCache& cache) {
  TRY_ASSIGN(const CifarFiles files, find_files(spec));
  TRY_ASSIGN(CifarSplit train, measure(files, Split::train, spec));
  TRY_ASSIGN(CifarSplit test, measure(files, Split::test, spec));
  DataShape shape{.example = {image_side, image_side, planes_of_image},
                  .features = cifar_image_bytes,
                  .classes = files.layout.classes};
  TRY_ASSIGN(ImageReader reader, ImageReader::make(spec, seed, shape.example));
  std::array<ImageSet::Part, 2> parts{part_of(std::move(train), cache),
                                      part_of(std::move(test), cache)};
  return std::unique_ptr<Dataset>(
      std::make_unique<ImageSet>(std::move(shape), std::move(reader), std::move(parts)));
}

}  // namespace trainyard::runtime
