#include "runtime/data/image_folder.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <set>

#include "runtime/data/places.h"
#include "tests/runtime/data/batches.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

using Catch::Matchers::Contains;

// A grey image of 2 x 2 in one tone.
std::string tone(int value) { return "P5\n2 2\n255\n" + std::string(4, static_cast<char>(value)); }

DatasetSpec folder_spec(const TempFolder& folder) {
  DatasetSpec spec;
  spec.format = "image_folder";
  spec.path = folder.path();
  spec.height = 2;
  spec.width = 3;
  spec.channels = 1;
  return spec;
}

std::string folder_error(const DatasetSpec& spec) {
  const auto data = open_image_folder(spec, 1);
  if (!data) return data.error().message;
  for (const Split split : {Split::train, Split::test}) {
    if (const Status ready = (*data)->prepare(split); !ready) return ready.error().message;
  }
  return "";
}

void write_two(const TempFolder& folder) {
  folder.write("train/cat/b.pgm", tone(11));
  folder.write("train/cat/a.PGM", tone(10));
  folder.write("train/ape/z.pgm", tone(20));
  folder.write("train/dog/.hidden.pgm", "no image");
  folder.write("train/dog/d.pgm", tone(30));
  folder.write("train/dog/notes.txt", "no image");
  folder.write("train/.cache/d.pgm", "no image");
  folder.write("test/dog/d.pgm", tone(40));
}

// Of a batch of tones: the byte of each example.
std::vector<int> tones_of(const Batch& batch) {
  std::vector<int> tones;
  for (std::size_t i = 0; i < batch.features.size(); i += 6) {
    for (std::size_t pixel = 0; pixel < 6; ++pixel) {
      REQUIRE(batch.features[i + pixel] == batch.features[i]);
    }
    tones.push_back(static_cast<int>(batch.features[i] * 255.0F + 0.5F));
  }
  return tones;
}

}  // namespace

TEST_CASE("folders train and test give images by class, in the order of names", "[image_folder]") {
  const TempFolder folder;
  write_two(folder);
  const auto data = open_image_folder(folder_spec(folder), 1);
  REQUIRE(data);
  CHECK((*data)->shape() == DataShape{.example = {2, 3, 1},
                                      .features = 6,
                                      .classes = 3,
                                      .class_names = {"ape", "cat", "dog"}});
  const Batch train = read_all(**data, Split::train);
  CHECK(train.labels == std::vector<std::int32_t>{0, 1, 1, 2});
  CHECK(tones_of(train) == std::vector<int>{20, 10, 11, 30});
  const Batch test = read_all(**data, Split::test);
  CHECK(test.labels == std::vector<std::int32_t>{2});
  CHECK(tones_of(test) == std::vector<int>{40});
}

TEST_CASE("without a folder train a share of all is the test, drawn by the seed",
          "[image_folder]") {
  const TempFolder folder;
  for (int i = 0; i < 30; ++i) {
    folder.write((i % 3 == 0 ? "up/" : "down/") + std::to_string(i) + ".pgm", tone(i));
  }
  DatasetSpec spec = folder_spec(folder);
  spec.test_fraction = 0.3;
  const auto data = open_image_folder(spec, 5);
  REQUIRE(data);
  REQUIRE((*data)->size(Split::train) == 21);
  REQUIRE((*data)->size(Split::test) == 9);
  const auto train = tones_of(read_all(**data, Split::train));
  const auto test = tones_of(read_all(**data, Split::test));
  std::set<int> all(train.begin(), train.end());
  all.insert(test.begin(), test.end());
  CHECK(all.size() == 30);
  for (const std::uint64_t seed : {5, 6}) {
    const auto again = open_image_folder(spec, seed);
    REQUIRE(again);
    CHECK((tones_of(read_all(**again, Split::test)) == test) == (seed == 5));
  }

  // So many of them are drawn: the first ones would be of one class.
  spec.train_examples = 10;
  spec.test_examples = 4;
  const auto few = open_image_folder(spec, 5);
  REQUIRE(few);
  const Batch some = read_all(**few, Split::train);
  CHECK(some.examples == 10);
  CHECK(std::set<std::int32_t>(some.labels.begin(), some.labels.end()).size() == 2);
  for (const int each : tones_of(some)) CHECK(std::ranges::find(train, each) != train.end());
  CHECK(read_all(**few, Split::test).examples == 4);
  spec.train_examples = 22;
  CHECK_THAT(folder_error(spec), Contains("dataset.train_examples is 22"));
}

TEST_CASE("what is wrong with a folder of images is said with its name", "[image_folder]") {
  const TempFolder folder;
  DatasetSpec spec = folder_spec(folder);
  CHECK_THAT(folder_error(spec), Contains(folder.path()) && Contains("has no folders"));
  folder.write("only/a.pgm", tone(1));
  folder.write("only/b.pgm", tone(1));
  CHECK_THAT(folder_error(spec), Contains("one class only, the folder only"));
  folder.write("other/readme.txt", "");
  CHECK_THAT(folder_error(spec), Contains("other has no image files"));
  spec.path += "/none";
  CHECK_THAT(folder_error(spec), Contains("there is no folder " + spec.path));

  const TempFolder two;
  write_two(two);
  two.write("test/emu/a.pgm", tone(1));
  CHECK_THAT(folder_error(folder_spec(two)),
             Contains("/test/emu is not one of those in") && Contains("/train"));
  std::filesystem::remove_all(two.path() + "/test");
  CHECK_THAT(folder_error(folder_spec(two)),
             Contains("there is no folder " + two.path() + "/test"));
}

TEST_CASE("an image that does not decode is named, none of its bytes", "[image_folder]") {
  const TempFolder folder;
  write_two(folder);
  folder.write("train/dog/e.jpg", "secret words");
  const std::string message = folder_error(folder_spec(folder));
  CHECK(message ==
        "dataset: " + folder.path() + "/train/dog/e.jpg is no PNG, JPEG, PGM or PPM image");
}

TEST_CASE("images that are too many to keep are decoded as they are read, to the same bits",
          "[image_folder]") {
  const TempFolder folder;
  write_two(folder);
  DatasetSpec spec = folder_spec(folder);
  spec.augment = {FlipSpec{}, BrightnessSpec{.amount = 0.5}};
  const TempFolder kept;
  const auto whole = open_image_folder(spec, 1, {DataCache({kept.path(), 1 << 20}), 1});
  // There is no room for one image in this cache.
  const auto piecemeal = open_image_folder(spec, 1, {DataCache({kept.path(), 5}), 3});
  REQUIRE(whole);
  REQUIRE(piecemeal);
  REQUIRE((*whole)->prepare(Split::train));
  REQUIRE((*piecemeal)->prepare(Split::train));
  Batch expected;
  Batch found;
  const std::vector<std::int64_t> some{3, 0, 2, 1, 0};
  for (const std::uint64_t position : {0, 77}) {
    REQUIRE((*whole)->read({Split::train, some, position}, expected));
    REQUIRE((*piecemeal)->read({Split::train, some, position}, found));
    CHECK(found.features == expected.features);
    CHECK(found.labels == expected.labels);
  }

  folder.write("train/cat/b.pgm", "P5\n2 2\n255\n...");
  REQUIRE((*whole)->read({Split::train, some}, expected));  // in memory
  const Status torn = (*piecemeal)->read({Split::train, some}, found);
  REQUIRE_FALSE(torn);
  CHECK(torn.error().message == "dataset: " + folder.path() + "/train/cat/b.pgm is truncated");
}

TEST_CASE("decoded folders are kept for the host, however many files they have", "[image_folder]") {
  const TempFolder folder;
  for (int i = 0; i < 150; ++i) {
    const std::string path =
        folder.write((i % 2 == 0 ? "even/" : "odd/") + std::to_string(i) + ".pgm", tone(i));
    // What is young may still be written.
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  }
  const DatasetSpec spec = folder_spec(folder);
  const TempFolder cache;
  const FileAccess access{DataCache({cache.path(), 1 << 20}), 2};
  const auto first = open_image_folder(spec, 3, access);
  REQUIRE(first);
  const Batch batch = read_all(**first, Split::train);
  const auto files = [&cache] {
    std::int64_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(cache.path())) {
      count += entry.path().string().ends_with(".data") ? 1 : 0;
    }
    return count;
  };
  REQUIRE(files() == 1);
  const auto again = open_image_folder(spec, 3, access);
  REQUIRE(again);
  CHECK(read_all(**again, Split::train).features == batch.features);
  CHECK(files() == 1);

  folder.write("even/0.pgm", tone(99));  // young, so not from the cache
  const auto changed = open_image_folder(spec, 3, access);
  REQUIRE(changed);
  const auto train = tones_of(read_all(**changed, Split::train));
  const auto test = tones_of(read_all(**changed, Split::test));
  CHECK(std::ranges::count(train, 99) + std::ranges::count(test, 99) == 2);  // with its own 99
}

TEST_CASE("places of a batch are worked on by several threads, the lowest fault is told",
          "[image_folder]") {
  for (const std::int64_t threads : {1, 2, 8}) {
    std::vector<int> done(100, 0);
    REQUIRE(for_each_place(100, threads, [&done](std::int64_t place) -> Status {
      ++done[static_cast<std::size_t>(place)];
      return ok();
    }));
    CHECK(done == std::vector<int>(100, 1));
    const Status failed = for_each_place(100, threads, [](std::int64_t place) -> Status {
      if (place % 10 == 7) return invalid(std::to_string(place));
      return ok();
    });
    REQUIRE_FALSE(failed);
    CHECK(failed.error().message == "7");
  }
  REQUIRE(for_each_place(0, 4, [](std::int64_t) -> Status { return invalid("none"); }));
}

}  // namespace trainyard::runtime
