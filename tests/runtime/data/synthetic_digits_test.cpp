#include "runtime/data/synthetic_digits.h"

#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "tests/runtime/data/batches.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

TEST_CASE("synthetic digits are 28x28 pixels of 0 to 1 in ten balanced classes", "[synthetic]") {
  const auto data = make_synthetic_digits(1, {.train_examples = 500, .test_examples = 200});

  REQUIRE(data->shape() == DataShape{.example = {28, 28, 1}, .features = 784, .classes = 10});
  REQUIRE(data->size(Split::train) == 500);
  REQUIRE(data->size(Split::test) == 200);
  for (const Split split : {Split::train, Split::test}) {
    const Batch batch = read_all(*data, split);
    REQUIRE(std::ranges::all_of(batch.features, [](float x) { return x >= 0.0F && x <= 1.0F; }));
    for (std::int32_t digit = 0; digit < 10; ++digit) {
      REQUIRE(std::ranges::count(batch.labels, digit) == batch.examples / 10);
    }
    REQUIRE(batch.targets.empty());
  }
}

TEST_CASE("every synthetic image has ink, and not too much", "[synthetic]") {
  const auto data = make_synthetic_digits(2, {.train_examples = 1000, .test_examples = 1});
  const Batch batch = read_all(*data, Split::train);
  for (std::int64_t i = 0; i < batch.examples; ++i) {
    const auto image = std::span(batch.features).subspan(static_cast<std::size_t>(i * 784), 784);
    const auto dark = std::ranges::count_if(image, [](float x) { return x > 0.5F; });
    INFO("image " << i << " of digit " << batch.labels[static_cast<std::size_t>(i)]);
    REQUIRE(dark >= 10);
    REQUIRE(dark <= 300);
  }
}

TEST_CASE("an image is a function of seed, split and index alone", "[synthetic]") {
  const auto few = make_synthetic_digits(7, {.train_examples = 30, .test_examples = 30});
  const auto many = make_synthetic_digits(7, {.train_examples = 90, .test_examples = 60});
  const auto other = make_synthetic_digits(8, {.train_examples = 30, .test_examples = 30});

  const Batch train = read_all(*few, Split::train);
  const Batch longer = read_all(*many, Split::train);
  REQUIRE(std::equal(train.features.begin(), train.features.end(), longer.features.begin()));
  REQUIRE(std::equal(train.labels.begin(), train.labels.end(), longer.labels.begin()));
  REQUIRE(train.features != read_all(*few, Split::test).features);
  REQUIRE(train.features != read_all(*other, Split::train).features);
}

TEST_CASE("the test split is drawn once for a host, and is the same from its cache",
          "[synthetic][mend-B16]") {
  const TempFolder folder;
  const DataCache cache({.folder = folder.path(), .bytes_max = 1 << 20});
  const SyntheticDigitsSize size{.train_examples = 10, .test_examples = 30};
  const Batch drawn = read_all(*make_synthetic_digits(7, size), Split::test);

  CHECK(read_all(*make_synthetic_digits(7, size, cache), Split::test).features == drawn.features);
  // By inode: whoever draws again puts another file in its place.
  const auto kept = [&] {
    std::set<ino_t> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      struct stat file {};
      if (entry.path().extension() != ".data") continue;
      REQUIRE(::stat(entry.path().c_str(), &file) == 0);
      files.insert(file.st_ino);
    }
    return files;
  };
  const std::set<ino_t> once = kept();
  REQUIRE(once.size() == 1);
  const Batch again = read_all(*make_synthetic_digits(7, size, cache), Split::test);
  CHECK(again.features == drawn.features);
  CHECK(again.labels == drawn.labels);
  CHECK(kept() == once);
  CHECK(read_all(*make_synthetic_digits(8, size, cache), Split::test).features != drawn.features);
  CHECK(kept().size() == 2);
}

// Results of jobs are compared by their bytes: the images of a seed never change.
TEST_CASE("the images of seed 42 are what they always were", "[synthetic]") {
  const auto data = make_synthetic_digits(42, {.train_examples = 20, .test_examples = 10});
  const Batch batch = read_all(*data, Split::train);
  std::uint64_t hash = 1469598103934665603ULL;  // FNV-1a over the bytes that the pixels come from
  for (const float pixel : batch.features) {
    hash = (hash ^ static_cast<std::uint64_t>(pixel * 255.0F + 0.5F)) * 1099511628211ULL;
  }
  REQUIRE(hash == 0x9956D369D04CF524ULL);
}

TEST_CASE("a data set's examples come in the order they are asked for", "[synthetic]") {
  const auto data = make_synthetic_digits(3, {.train_examples = 20, .test_examples = 1});
  const Batch all = read_all(*data, Split::train);
  Batch batch;
  REQUIRE(data->read({Split::train, std::vector<std::int64_t>{4, 19, 4}}, batch));

  REQUIRE(batch.examples == 3);
  REQUIRE(batch.labels == std::vector<std::int32_t>{all.labels[4], all.labels[19], all.labels[4]});
  REQUIRE(std::equal(batch.features.begin() + 784, batch.features.begin() + 2 * 784,
                     all.features.begin() + 19 * 784));
}

TEST_CASE("a wrong spec of a data set is refused by the field's name", "[dataset]") {
  using Catch::Matchers::Contains;
  const auto error_of = [](DatasetSpec spec) {
    const auto data = open_dataset(spec, 1);
    REQUIRE_FALSE(data);
    return data.error().message;
  };
  DatasetSpec spec;
  spec.format = "synthetic_digits";
  spec.test_examples = 10;
  CHECK_THAT(error_of(spec), Contains("dataset.train_examples"));
  spec.train_examples = 10;
  spec.test_examples = std::int64_t{1} << 60;
  CHECK_THAT(error_of(spec), Contains("dataset.test_examples"));
  spec.format = "parquet";
  CHECK_THAT(error_of(spec), Contains("dataset.format") && Contains("parquet"));
}

}  // namespace trainyard::runtime
