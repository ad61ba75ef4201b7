#include "runtime/data/cifar.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/runtime/data/batches.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

using Catch::Matchers::Contains;

// A byte of an image that tells image, channel, row and column.
std::uint8_t cifar_byte(std::size_t image, std::size_t channel, std::size_t row,
                        std::size_t column) {
  return static_cast<std::uint8_t>(image * 71 + channel * 37 + row * 5 + column * 3);
}

// Examples with these bytes for a label each; images are numbered from `first`.
std::string cifar_file(std::size_t first, const std::vector<std::string>& labels) {
  std::string text;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    text += labels[i];
    for (std::size_t channel = 0; channel < 3; ++channel) {
      for (std::size_t place = 0; place < 1024; ++place) {
        text += static_cast<char>(cifar_byte(first + i, channel, place / 32, place % 32));
      }
    }
  }
  return text;
}

std::string one_label(int label) { return std::string(1, static_cast<char>(label)); }
std::string two_labels(int coarse, int fine) { return one_label(coarse) + one_label(fine); }

void write_ten(const TempFolder& folder) {
  folder.write("data_batch_1.bin", cifar_file(0, {one_label(3), one_label(9)}));
  folder.write("data_batch_2.bin", cifar_file(2, {one_label(0)}));
  folder.write("test_batch.bin", cifar_file(3, {one_label(5), one_label(6)}));
}

DatasetSpec cifar_spec(const TempFolder& folder) {
  DatasetSpec spec;
  spec.format = "cifar";
  spec.path = folder.path();
  return spec;
}

// Of the first that fails: opening, or preparing a split.
std::string cifar_error(const DatasetSpec& spec) {
  const auto data = open_cifar(spec, 1);
  if (!data) return data.error().message;
  for (const Split split : {Split::train, Split::test}) {
    if (const Status ready = (*data)->prepare(split); !ready) return ready.error().message;
  }
  return "";
}

std::string cifar_error_with(const std::string& name, const std::string& content) {
  const TempFolder folder;
  write_ten(folder);
  folder.write(name, content);
  const std::string message = cifar_error(cifar_spec(folder));
  CHECK_THAT(message, Contains(name));
  return message;
}

}  // namespace

TEST_CASE("CIFAR-10 files give images of three channels a pixel, batch after batch", "[cifar]") {
  const TempFolder folder;
  write_ten(folder);
  const auto data = open_cifar(cifar_spec(folder), 1);
  REQUIRE(data);
  CHECK((*data)->shape() == DataShape{.example = {32, 32, 3}, .features = 3072, .classes = 10});
  REQUIRE((*data)->size(Split::train) == 3);
  REQUIRE((*data)->size(Split::test) == 2);
  const Batch batch = read_all(**data, Split::train);
  CHECK(batch.labels == std::vector<std::int32_t>{3, 9, 0});
  for (std::size_t image = 0; image < 3; ++image) {
    for (std::size_t place = 0; place < 3072; ++place) {
      const std::uint8_t byte = cifar_byte(image, place % 3, place / 96, place / 3 % 32);
      REQUIRE(batch.features[image * 3072 + place] == static_cast<float>(byte) / 255.0F);
    }
  }
  CHECK(read_all(**data, Split::test).labels == std::vector<std::int32_t>{5, 6});
}

TEST_CASE("of CIFAR-100's two labels the fine one is taken, or the coarse one", "[cifar]") {
  const TempFolder folder;
  folder.write("train.bin", cifar_file(0, {two_labels(19, 99), two_labels(0, 4)}));
  folder.write("test.bin", cifar_file(2, {two_labels(7, 42)}));
  DatasetSpec spec = cifar_spec(folder);
  const auto fine = open_cifar(spec, 1);
  REQUIRE(fine);
  CHECK((*fine)->shape().classes == 100);
  const Batch batch = read_all(**fine, Split::train);
  CHECK(batch.labels == std::vector<std::int32_t>{99, 4});
  CHECK(batch.features[0] == static_cast<float>(cifar_byte(0, 0, 0, 0)) / 255.0F);
  CHECK(batch.features[3072 + 1] == static_cast<float>(cifar_byte(1, 1, 0, 0)) / 255.0F);

  spec.labels = CifarLabels::coarse;
  const auto coarse = open_cifar(spec, 1);
  REQUIRE(coarse);
  CHECK((*coarse)->shape().classes == 20);
  CHECK(read_all(**coarse, Split::train).labels == std::vector<std::int32_t>{19, 0});
}

TEST_CASE("the first examples of CIFAR's files are taken where the spec asks", "[cifar]") {
  const TempFolder folder;
  write_ten(folder);
  DatasetSpec spec = cifar_spec(folder);
  spec.train_examples = 2;
  spec.test_examples = 1;
  const auto data = open_cifar(spec, 1);
  REQUIRE(data);
  CHECK(read_all(**data, Split::train).labels == std::vector<std::int32_t>{3, 9});
  CHECK(read_all(**data, Split::test).labels == std::vector<std::int32_t>{5});
  spec.train_examples = 4;
  CHECK_THAT(cifar_error(spec), Contains("dataset.train_examples is 4") && Contains("hold 3"));
}

TEST_CASE("a broken CIFAR file is named, with the example", "[cifar]") {
  CHECK_THAT(cifar_error_with("data_batch_2.bin", cifar_file(0, {one_label(3)}).substr(0, 3000)),
             Contains("is truncated or no CIFAR file: its 3000 bytes"));
  CHECK_THAT(cifar_error_with("test_batch.bin", ""), Contains("is empty"));
  CHECK_THAT(cifar_error_with("data_batch_1.bin", cifar_file(0, {one_label(3), one_label(10)})),
             Contains("has label 10 at example 1 (counted from 0), but 10 classes"));
  CHECK_THAT(cifar_error_with("test_batch.bin", cifar_file(0, {one_label(-1)})),
             Contains("has label 255 at example 0"));
  CHECK_THAT(cifar_error_with("data_batch_4.bin", cifar_file(0, {one_label(1)})),
             Contains("no data_batch_3.bin"));
}

TEST_CASE("a CIFAR file that is missing or not what it is taken for is named", "[cifar]") {
  const TempFolder folder;
  CHECK_THAT(cifar_error(cifar_spec(folder)),
             Contains("no data_batch_1.bin") && Contains("train.bin"));
  write_ten(folder);
  DatasetSpec spec = cifar_spec(folder);
  spec.labels = CifarLabels::coarse;
  CHECK_THAT(cifar_error(spec), Contains("dataset.labels is coarse") && Contains("CIFAR-10"));
  std::filesystem::remove(folder.path() + "/test_batch.bin");
  CHECK_THAT(cifar_error(cifar_spec(folder)), Contains("test_batch.bin"));
}

TEST_CASE("a CIFAR file that shrinks between opening and reading is named", "[cifar]") {
  const TempFolder folder;
  write_ten(folder);
  const auto data = open_cifar(cifar_spec(folder), 1);
  REQUIRE(data);
  folder.write("data_batch_1.bin", cifar_file(0, {one_label(3)}));
  const Status shrunk = (*data)->prepare(Split::train);
  REQUIRE_FALSE(shrunk);
  CHECK_THAT(shrunk.error().message, Contains("data_batch_1.bin ends within example 1"));
}

}  // namespace trainyard::runtime
