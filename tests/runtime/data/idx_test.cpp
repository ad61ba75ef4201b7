#include "runtime/data/idx.h"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <numeric>

#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

using Catch::Matchers::Contains;

std::string idx(const std::vector<std::uint32_t>& shape, const std::string& data) {
  std::string text{'\0', '\0', '\x08', static_cast<char>(shape.size())};
  for (const std::uint32_t size : shape) {
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(size >> shift & 0xFF);
  }
  return text + data;
}

std::string gzipped(const TempFolder& folder, const std::string& content) {
  const std::string path = folder.path("gzipped");
  const gzFile file = gzopen(path.c_str(), "wb");
  REQUIRE(gzwrite(file, content.data(), static_cast<unsigned>(content.size())) ==
          static_cast<int>(content.size()));
  gzclose(file);
  return content_of(path);
}

// Four training images and two test images of 2x3, each pixel its place in the file.
std::string counting(std::size_t count) {
  std::string data(count, '\0');
  std::iota(data.begin(), data.end(), '\0');
  return data;
}

void write_all(const TempFolder& folder) {
  folder.write("train-images-idx3-ubyte", idx({4, 2, 3}, counting(24)));
  folder.write("train-labels-idx1-ubyte", idx({4}, {0, 1, 2, 1}));
  folder.write("t10k-images-idx3-ubyte", idx({2, 2, 3}, counting(12)));
  folder.write("t10k-labels-idx1-ubyte", idx({2}, {2, 0}));
}

DatasetSpec spec_of(const TempFolder& folder) {
  DatasetSpec spec;
  spec.format = "idx";
  spec.path = folder.path();
  return spec;
}

// Opened, with both splits ready to be read.
Result<std::unique_ptr<Dataset>> open_whole(const DatasetSpec& spec) {
  TRY_ASSIGN(auto data, open_idx(spec, 1));
  TRY(data->prepare(Split::train));
  TRY(data->prepare(Split::test));
  return data;
}

std::string error_of(const DatasetSpec& spec) {
  const auto data = open_whole(spec);
  REQUIRE_FALSE(data);
  return data.error().message;
}

// The error where one file of a good folder is replaced by `content`.
std::string error_with(const std::string& name, const std::string& content) {
  const TempFolder folder;
  write_all(folder);
  folder.write(name, content);
  const std::string message = error_of(spec_of(folder));
  CHECK_THAT(message, Contains(name));
  return message;
}

}  // namespace

TEST_CASE("an IDX folder gives images divided by 255 and their labels", "[idx]") {
  const TempFolder folder;
  write_all(folder);
  const auto data = open_whole(spec_of(folder));
  REQUIRE(data);

  REQUIRE((*data)->shape() == DataShape{.example = {2, 3, 1}, .features = 6, .classes = 3});
  REQUIRE((*data)->size(Split::train) == 4);
  REQUIRE((*data)->size(Split::test) == 2);
  Batch batch;
  REQUIRE((*data)->read({Split::train, std::vector<std::int64_t>{2, 0}}, batch));
  REQUIRE(batch.labels == std::vector<std::int32_t>{2, 0});
  REQUIRE(batch.features[0] == 12.0F / 255.0F);
  REQUIRE(batch.features[11] == 5.0F / 255.0F);
}

TEST_CASE("gzipped IDX files are the same", "[idx]") {
  const TempFolder folder;
  write_all(folder);
  std::filesystem::remove(folder.path() + "/train-images-idx3-ubyte");
  folder.write("train-images-idx3-ubyte.gz", gzipped(folder, idx({4, 2, 3}, counting(24))));
  const auto data = open_whole(spec_of(folder));
  REQUIRE(data);
  Batch batch;
  REQUIRE((*data)->read({Split::train, std::vector<std::int64_t>{3}}, batch));
  REQUIRE(batch.features[5] == 23.0F / 255.0F);
}

TEST_CASE("the first examples of an IDX folder are taken where the spec asks", "[idx]") {
  const TempFolder folder;
  write_all(folder);
  DatasetSpec spec = spec_of(folder);
  spec.train_examples = 3;
  spec.test_examples = 1;
  const auto data = open_whole(spec);
  REQUIRE(data);
  REQUIRE((*data)->size(Split::train) == 3);
  REQUIRE((*data)->size(Split::test) == 1);

  spec.train_examples = 5;
  REQUIRE_THAT(error_of(spec), Contains("dataset.train_examples is 5") && Contains("holds 4"));
}

TEST_CASE("a missing IDX file is named, with its folder", "[idx]") {
  const TempFolder folder;
  write_all(folder);
  std::filesystem::remove(folder.path() + "/t10k-labels-idx1-ubyte");
  const auto data = open_whole(spec_of(folder));
  REQUIRE_FALSE(data);
  REQUIRE(data.error().code == Code::not_found);
  REQUIRE_THAT(data.error().message, Contains("t10k-labels-idx1-ubyte") && Contains(folder.path()));
}

TEST_CASE("a broken IDX file is named, with what is wrong", "[idx]") {
  const std::string images = "train-images-idx3-ubyte";
  const std::string labels = "train-labels-idx1-ubyte";
  CHECK_THAT(error_with(images, ""), Contains("truncated"));
  CHECK_THAT(error_with(images, "no idx file"), Contains("bad magic number"));
  CHECK_THAT(error_with(images, idx({4, 2, 3}, counting(23))),
             Contains("truncated") && Contains("23"));
  CHECK_THAT(error_with(images, idx({4, 2, 3}, counting(25))), Contains("longer"));
  CHECK_THAT(error_with(images, idx({4, 2, 3}, "").substr(0, 9)), Contains("truncated"));
  CHECK_THAT(error_with(images, idx({0, 2, 3}, "")), Contains("empty"));
  CHECK_THAT(error_with(images, idx({4}, counting(4))), Contains("one dimension"));
  CHECK_THAT(error_with(labels, idx({3}, {0, 1, 2})), Contains("3 labels for the 4 images"));
  CHECK_THAT(error_with(labels, idx({4, 1}, {0, 1, 2, 1})), Contains("more than one dimension"));
  std::string doubles = idx({4, 2, 3}, counting(24));
  doubles[2] = '\x0E';
  CHECK_THAT(error_with(images, doubles), Contains("IDX type 8"));
}

TEST_CASE("a header that promises the world takes no memory for it", "[idx]") {
  const std::string images = "train-images-idx3-ubyte";
  CHECK_THAT(error_with(images, idx({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "x")), Contains("2^36"));
  CHECK_THAT(error_with(images, idx({60000, 1000, 1000}, "x")), Contains("truncated"));
}

TEST_CASE("labels are not unpacked where there are not as many images", "[idx]") {
  const TempFolder folder;
  write_all(folder);
  std::filesystem::remove(folder.path() + "/train-labels-idx1-ubyte");
  const std::string claim = gzipped(folder, idx({4'000'000'000}, std::string(1000, '\1')));
  folder.write("train-labels-idx1-ubyte.gz", claim);
  CHECK_THAT(error_of(spec_of(folder)), Contains("4000000000 labels for the 4 images"));
}

TEST_CASE("a gzip stream that is cut or damaged is named", "[idx]") {
  const TempFolder source;
  const std::string whole = gzipped(source, idx({4, 20, 30}, std::string(2400, 'x')));
  for (const bool cut : {true, false}) {
    const TempFolder folder;
    write_all(folder);
    std::filesystem::remove(folder.path() + "/train-images-idx3-ubyte");
    std::string content = cut ? whole.substr(0, whole.size() - 12) : whole;
    if (!cut) content[content.size() - 6] ^= '\x55';  // in the checksum
    folder.write("train-images-idx3-ubyte.gz", content);
    CHECK_THAT(error_of(spec_of(folder)),
               Contains("train-images-idx3-ubyte.gz") && !Contains("/proc/self") &&
                   Contains(cut ? "is truncated: its gzip stream has no end"
                                : "is damaged, its gzip stream has a fault: incorrect data check"));
  }
}

TEST_CASE("training and test images of different sizes are refused", "[idx]") {
  const TempFolder folder;
  write_all(folder);
  folder.write("t10k-images-idx3-ubyte", idx({2, 3, 2}, counting(12)));
  REQUIRE_THAT(error_of(spec_of(folder)), Contains("2x3") && Contains("3x2"));
}

TEST_CASE("what headers and labels tell is refused before an image is read", "[idx][mend-B16]") {
  const TempFolder folder;
  write_all(folder);
  folder.write("t10k-images-idx3-ubyte", idx({2, 2, 3}, counting(11)));
  const auto data = open_idx(spec_of(folder), 1);
  REQUIRE_FALSE(data);
  CHECK_THAT(data.error().message, Contains("t10k-images-idx3-ubyte is truncated"));
}

TEST_CASE("images of the test are not read before they are needed", "[idx][mend-B16]") {
  const TempFolder folder;
  write_all(folder);
  const auto data = open_idx(spec_of(folder), 1);
  REQUIRE(data);
  std::filesystem::remove(folder.path() + "/t10k-images-idx3-ubyte");
  CHECK((*data)->size(Split::test) == 2);
  REQUIRE((*data)->prepare(Split::train));
  Batch batch;
  REQUIRE((*data)->read({Split::train, std::vector<std::int64_t>{2}}, batch));
  CHECK(batch.features[0] == 12.0F / 255.0F);
  const Status gone = (*data)->prepare(Split::test);
  REQUIRE_FALSE(gone);
  CHECK_THAT(gone.error().message, Contains("t10k-images-idx3-ubyte"));

  folder.write("t10k-images-idx3-ubyte", idx({2, 2, 3}, counting(12)));
  REQUIRE((*data)->prepare(Split::test));
  REQUIRE((*data)->read({Split::test, std::vector<std::int64_t>{1}}, batch));
  CHECK(batch.features[0] == 6.0F / 255.0F);
}

TEST_CASE("MNIST as published is read", "[idx]") {
  DatasetSpec spec;
  spec.path = "../shared/data/mnist";
  if (!std::filesystem::exists(spec.path)) {
    WARN("skipped: there is no MNIST in " << spec.path);
    return;
  }
  const auto data = open_whole(spec);
  REQUIRE(data);
  REQUIRE((*data)->shape() == DataShape{.example = {28, 28, 1}, .features = 784, .classes = 10});
  REQUIRE((*data)->size(Split::train) == 60'000);
  REQUIRE((*data)->size(Split::test) == 10'000);
  Batch batch;
  REQUIRE((*data)->read({Split::test, std::vector<std::int64_t>{0, 1, 2, 3, 4}}, batch));
  REQUIRE(batch.labels == std::vector<std::int32_t>{7, 2, 1, 0, 4});
}

}  // namespace trainyard::runtime
