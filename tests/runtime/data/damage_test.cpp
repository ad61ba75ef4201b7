// Files that were good and are damaged by chance: each is either still a data set or gives an error
// that names it.
#include <catch2/catch.hpp>
#include <numeric>

#include "runtime/core/counter_rng.h"
#include "runtime/data/dataset.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

// Cuts, doubles or overwrites a few bytes, by seed.
std::string damaged(std::string content, std::uint64_t seed) {
  const CounterRng rng(seed, RngStream::synthetic);
  const std::uint64_t wounds = 1 + rng.bits(0) % 4;
  for (std::uint64_t wound = 1; wound <= wounds && !content.empty(); ++wound) {
    const auto words = rng.block(wound);
    const std::size_t place = words[0] % content.size();
    switch (words[1] % 4) {
      case 0: content[place] = static_cast<char>(words[2]); break;
      case 1: content.erase(place, 1 + words[2] % 8); break;
      case 2: content.insert(place, content.substr(place, 1 + words[2] % 8)); break;
      default: content.resize(place); break;
    }
  }
  return content;
}

void require_whole(const Batch& batch, const DataShape& shape) {
  for (const std::int32_t label : batch.labels) REQUIRE((label >= 0 && label < shape.classes));
  if (shape.layout == FeatureLayout::dense) {
    REQUIRE(std::ssize(batch.features) == batch.examples * shape.features);
    return;
  }
  REQUIRE(batch.sparse.view().rows() == batch.examples);
  REQUIRE(batch.sparse.offsets.back() == std::ssize(batch.sparse.columns));
  REQUIRE(batch.sparse.values.size() == batch.sparse.columns.size());
  for (const std::int32_t column : batch.sparse.columns) {
    REQUIRE((column >= 0 && column < shape.features));
  }
}

// How many of the damaged versions still open.
int open_all(const std::string& name, const std::string& content, DatasetSpec spec,
             const TempFolder& folder) {
  int opened = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    folder.write(name, damaged(content, seed));
    const auto data = open_dataset(spec, 1);
    if (!data) {
      REQUIRE_FALSE(data.error().message.empty());
      continue;
    }
    if (const Status ready = (*data)->prepare(Split::train); !ready) {
      REQUIRE_FALSE(ready.error().message.empty());
      continue;
    }
    ++opened;
    std::vector<std::int64_t> indices(static_cast<std::size_t>((*data)->size(Split::train)));
    std::iota(indices.begin(), indices.end(), 0);
    Batch batch;
    REQUIRE((*data)->read({Split::train, indices}, batch));
    require_whole(batch, (*data)->shape());
  }
  return opened;
}

std::string idx_of(std::uint32_t count, const std::string& sizes, const std::string& data) {
  const auto rank = static_cast<char>(1 + sizes.size() / 4);
  return std::string{'\0', '\0', '\x08', rank, '\0', '\0', '\0', static_cast<char>(count)} + sizes +
         data;
}

}  // namespace

TEST_CASE("a damaged CSV file opens or is refused", "[damage]") {
  const TempFolder folder;
  std::string text = "width,\"height, m\",kind\r\n";
  for (int i = 0; i < 30; ++i) {
    text += std::to_string(i) + ".5,\"" + std::to_string(-i) + "e-1\"," +
            (i % 3 == 0 ? "x" : "\"y\"\"\"") + "\r\n";
  }
  DatasetSpec spec;
  spec.format = "csv";
  spec.path = folder.path() + "/table.csv";
  const int opened = open_all("table.csv", text, spec, folder);
  REQUIRE(opened > 20);
  REQUIRE(opened < 380);
}

TEST_CASE("a damaged LibSVM file opens or is refused", "[damage]") {
  const TempFolder folder;
  std::string text = "# two classes\n";
  for (int i = 0; i < 30; ++i) {
    text += (i % 3 == 0 ? "+1 1:" : "-1 1:") + std::to_string(i) + ".5 7:-1e-1 " +
            std::to_string(100 + i) + ":1\n";
  }
  DatasetSpec spec;
  spec.format = "libsvm";
  spec.path = folder.path() + "/rows.txt";
  const int opened = open_all("rows.txt", text, spec, folder);
  REQUIRE(opened > 20);
  REQUIRE(opened < 380);
}

TEST_CASE("a damaged IDX file opens or is refused", "[damage]") {
  const TempFolder folder;
  const std::string sizes{'\0', '\0', '\0', '\x02', '\0', '\0', '\0', '\x03'};
  const std::string images = idx_of(4, sizes, std::string(24, '\x7F'));
  const std::string labels = idx_of(4, "", {'\0', '\x01', '\x02', '\x01'});
  for (const char* const split : {"train", "t10k"}) {
    folder.write(std::string(split) + "-images-idx3-ubyte", images);
    folder.write(std::string(split) + "-labels-idx1-ubyte", labels);
  }
  DatasetSpec spec;
  spec.format = "idx";
  spec.path = folder.path();
  REQUIRE(open_all("train-images-idx3-ubyte", images, spec, folder) > 20);
  folder.write("train-images-idx3-ubyte", images);
  REQUIRE(open_all("train-labels-idx1-ubyte", labels, spec, folder) > 5);
}

TEST_CASE("a damaged CIFAR file opens or is refused", "[damage]") {
  const TempFolder folder;
  std::string content;
  for (const char label : {'\0', '\x09', '\x03'}) content += label + std::string(3072, '\x7F');
  folder.write("test_batch.bin", content);
  DatasetSpec spec;
  spec.format = "cifar";
  spec.path = folder.path();
  const int opened = open_all("data_batch_1.bin", content, spec, folder);
  REQUIRE(opened > 20);
  REQUIRE(opened < 380);
}

}  // namespace trainyard::runtime
