#include "runtime/data/recsys.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "runtime/data/recsys_ids.h"
#include "tests/runtime/data/batches.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

namespace fs = std::filesystem;
using Catch::Matchers::Contains;

// user, item, age, label; the last two lines lack some.
constexpr const char* ratings =
    "userId,movieId,age,liked\n"
    "7,a,30,1\n7,b,30.5,0\n8,a,-4,1\n9,c,1e3,0\n7,a,30,1\n8,\"a,b\",2,1\n9,,,0\n7,b,1,1\n";

DatasetSpec ratings_spec() {
  DatasetSpec spec;
  spec.name = "ratings";
  spec.format = "recsys";
  spec.label_column = "liked";
  spec.test_fraction = 0.25;
  spec.recsys = {.has_header = true,
                 .numeric = {"age"},
                 .fields = {{.field = "both", .columns = {"userId", "movieId"}},
                            {.field = "item", .columns = {"movieId"}, .is_single = true}},
                 .vocabulary = 100,
                 .has_label = true};
  return spec;
}

Result<std::unique_ptr<Dataset>> try_open_recsys(const std::string& text, DatasetSpec spec) {
  const TempFolder folder;
  spec.path = folder.write("ratings.csv", text);
  return open_recsys(spec, 1, DataCache());
}

std::unique_ptr<Dataset> open_recsys_text(const std::string& text, const DatasetSpec& spec) {
  auto data = try_open_recsys(text, spec);
  if (!data) FAIL(data.error().message);
  return *std::move(data);
}

std::string recsys_error(const std::string& text, const DatasetSpec& spec) {
  const auto data = try_open_recsys(text, spec);
  REQUIRE_FALSE(data);
  CHECK_THAT(data.error().message, Contains("ratings.csv"));
  return data.error().message;
}

}  // namespace

TEST_CASE("columns become numbers, fields of ids and labels", "[recsys]") {
  const auto data = open_recsys_text(ratings, ratings_spec());
  const DataShape& shape = data->shape();
  CHECK(shape.layout == FeatureLayout::columns);
  CHECK(shape.features == 1);
  CHECK(shape.classes == 2);
  REQUIRE(shape.id_fields.size() == 2);
  // Users 7, 8 and 9 and none; movies a, b, c, "a,b" and none.
  CHECK(shape.id_fields[0] == IdFieldShape{.name = "both", .example = {2}, .ids = 4 + 5});
  CHECK(shape.id_fields[1] == IdFieldShape{.name = "item", .example = {}, .ids = 5});
  CHECK(data->size(Split::train) == 6);
  CHECK(data->size(Split::test) == 2);

  std::multiset<std::vector<float>> seen;
  for (const Split split : {Split::train, Split::test}) {
    const Batch batch = read_all(*data, split);
    const auto examples = static_cast<std::size_t>(batch.examples);
    REQUIRE(batch.ids.size() == 3 * examples);
    REQUIRE(batch.features.size() == examples);
    for (std::size_t i = 0; i < examples; ++i) {
      CHECK(batch.ids[2 * i + 1] - 4 == batch.ids[2 * examples + i]);
      seen.insert({static_cast<float>(batch.ids[2 * i]),
                   static_cast<float>(batch.ids[2 * examples + i]), batch.features[i],
                   static_cast<float>(batch.labels[i])});
    }
  }
  // By count, then bytes: 7, 8 (two each with 9), 9; a, b, then "a,b" and c.
  const std::multiset<std::vector<float>> expected{{1, 1, 30, 1},   {1, 2, 30.5F, 0}, {2, 1, -4, 1},
                                                   {3, 4, 1000, 0}, {1, 1, 30, 1},    {2, 3, 2, 1},
                                                   {3, 0, 0, 0},    {1, 2, 1, 1}};
  CHECK(seen == expected);
}

TEST_CASE("data of a thousand columns with long names is cached", "[recsys]") {
  constexpr std::size_t columns = 1000;
  const TempFolder folder;
  std::string header = "y";
  std::string rows;
  DatasetSpec spec = ratings_spec();
  spec.label_column = "y";
  spec.recsys = {.has_header = true, .vocabulary = 100, .has_label = true};
  IdColumns& all = spec.recsys.fields.emplace_back();
  all.field = "all";
  for (std::size_t i = 0; i < columns; ++i) {
    all.columns.push_back("column " + std::to_string(i) + std::string(200, 'x'));
    header += "," + all.columns.back();
  }
  for (std::size_t row = 0; row < 8; ++row) {
    rows += std::to_string(row % 2);
    for (std::size_t i = 0; i < columns; ++i) rows += "," + std::to_string((row + i) % 5);
    rows += "\n";
  }
  spec.path = folder.write("wide.csv", header + "\n" + rows);
  fs::last_write_time(spec.path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const DataCache cache({.folder = folder.path("cache"), .bytes_max = 1 << 30});
  std::vector<Batch> read;
  for (int i = 0; i < 2; ++i) {
    const auto data = open_recsys(spec, 1, cache);
    if (!data) FAIL(data.error().message);
    CHECK((*data)->shape().id_fields.front().ids == 1000 * 6);
    read.push_back(read_all(**data, Split::train));
  }
  CHECK(read[0].ids == read[1].ids);
  std::vector<std::string> kept;
  for (const auto& entry : fs::directory_iterator(folder.path("cache"))) {
    kept.push_back(entry.path().extension());
  }
  CHECK(std::ranges::count(kept, ".data") == 1);
}

TEST_CASE("specs that read other columns of a file share nothing in a cache", "[recsys]") {
  const TempFolder folder;
  DatasetSpec spec = ratings_spec();
  spec.label_column = "y";
  std::string text = "x,field a,d,y\n";
  for (int i = 0; i < 8; ++i) text += std::to_string(i) + ",2,4," + std::to_string(i % 2) + "\n";
  spec.path = folder.write("few.csv", text);
  fs::last_write_time(spec.path, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const DataCache cache({.folder = folder.path("cache"), .bytes_max = 1 << 30});
  const auto features_of = [&](std::vector<std::string> numeric, std::vector<IdColumns> fields) {
    spec.recsys.numeric = std::move(numeric);
    spec.recsys.fields = std::move(fields);
    const auto data = open_recsys(spec, 1, cache);
    if (!data) FAIL(data.error().message);
    return read_all(**data, Split::train).features.size() / 6;
  };
  const IdColumns a{.field = "a", .columns = {"d"}, .is_single = true};
  const IdColumns c{.field = "c", .columns = {"d"}, .is_single = true};
  CHECK(features_of({"x"}, {a, c}) == 1);
  CHECK(features_of({"x", "field a", "d"}, {c}) == 3);
  CHECK(features_of({"x", "field a"}, {c}) == 2);
}

TEST_CASE("how often an item comes in training is a number of each example", "[recsys]") {
  DatasetSpec spec = ratings_spec();
  spec.recsys.log_frequencies = {{.field = "popularity", .of = "item"}};
  const auto data = open_recsys_text(ratings, spec);
  CHECK(data->shape().features == 2);
  CHECK(data->shape().log_frequency_fields == std::vector<std::string>{"popularity"});
  const Batch training = read_all(*data, Split::train);
  const auto items_of = [](const Batch& batch) {
    return std::span(batch.ids).last(static_cast<std::size_t>(batch.examples));
  };
  for (const Split split : {Split::train, Split::test}) {
    const Batch batch = read_all(*data, split);
    for (std::size_t i = 0; i < items_of(batch).size(); ++i) {
      const auto count = std::ranges::count(items_of(training), items_of(batch)[i]);
      const double expected = std::log(std::max<double>(static_cast<double>(count), 1) / 6);
      CHECK(batch.features[2 * i + 1] == Approx(expected));
    }
  }
}

TEST_CASE("a byte order mark is no part of a recsys file's first cell", "[recsys]") {
  const auto marked = open_recsys_text("\xEF\xBB\xBF" + std::string(ratings), ratings_spec());
  const auto plain = open_recsys_text(ratings, ratings_spec());
  CHECK(marked->words() == plain->words());
  CHECK(read_all(*marked, Split::train).ids == read_all(*plain, Split::train).ids);
}

TEST_CASE("a vocabulary that is full leaves the rarest values to id 0", "[recsys]") {
  DatasetSpec spec = ratings_spec();
  spec.recsys.vocabulary = 3;
  const auto data = open_recsys_text(ratings, spec);
  CHECK(data->shape().id_fields[0].ids == 3 + 3);
  CHECK(data->shape().id_fields[1].ids == 3);
  const Batch batch = read_all(*data, Split::train);
  for (const std::int32_t id : batch.ids) CHECK(id < 6);
}

TEST_CASE("hashed ids depend on the column and the bytes alone", "[recsys]") {
  DatasetSpec spec = ratings_spec();
  spec.recsys.vocabulary = 0;
  spec.recsys.hash_buckets = 1'000'003;
  const auto data = open_recsys_text(ratings, spec);
  CHECK(data->shape().id_fields[0].ids == 1'000'003);
  const Batch batch = read_all(*data, Split::train);
  const auto examples = static_cast<std::size_t>(batch.examples);
  for (std::size_t i = 0; i < examples; ++i) {
    CHECK(batch.ids[2 * i + 1] == batch.ids[2 * examples + i]);
    CHECK(batch.ids[2 * i] != batch.ids[2 * i + 1]);
  }
  CHECK(hash_of_cell(0, "a") != hash_of_cell(1, "a"));
  // Part of what a model learns: never another one.
  CHECK(hash_of_cell(3, "user-42") == 0x611813BE69E5ADF5);
  std::map<std::uint64_t, int> buckets;
  for (int i = 0; i < 6400; ++i) ++buckets[hash_of_cell(0, std::to_string(i)) % 64];
  for (const auto& [bucket, count] : buckets) CHECK(count == Approx(100).margin(50));
}

TEST_CASE("positions, tabs and no label are read as well", "[recsys]") {
  DatasetSpec spec;
  spec.format = "recsys";
  spec.test_fraction = 0.5;
  spec.recsys = {.separator = ColumnSeparator::tab,
                 .numeric = {"0"},
                 .fields = {{.field = "categorical", .columns = {"2", "1"}}},
                 .hash_buckets = 50};
  const auto data = open_recsys_text("1\tx\ty\n\t\tz\n", spec);
  CHECK(data->shape().labels == LabelLayout::none);
  const Batch train = read_all(*data, Split::train);
  const Batch test = read_all(*data, Split::test);
  CHECK(train.labels.empty());
  CHECK(train.targets.empty());
  CHECK(train.ids.size() == 2);
  CHECK(train.features.front() + test.features.front() == 1);
}

TEST_CASE("a line that is no example is named, and nothing of it", "[recsys]") {
  const DatasetSpec spec = ratings_spec();
  const std::string header = "userId,movieId,age,liked\n7,secret,1,1\n";
  CHECK_THAT(recsys_error(header + "7,secret,1\n", spec), Contains("line 3 has 3 cells"));
  const std::string number = recsys_error(header + "7,secret,hidden,1\n", spec);
  CHECK_THAT(number, Contains("line 3, column 2") && Contains("finite number"));
  CHECK_THAT(number, !Contains("secret") && !Contains("hidden"));
  CHECK_THAT(recsys_error(header + "7,\"secret,1,1\n", spec),
             Contains("line 3") && Contains("quote"));
  CHECK_THAT(recsys_error(header + "7,a,1,\n", spec), Contains("line 3 has an empty label"));
  CHECK_THAT(recsys_error("userId,movieId,age,liked\n", spec), Contains("has no rows"));
  CHECK_THAT(recsys_error(header + "7,a,1,1\r8,b,2,0\n", spec),
             Contains("line 3 has a carriage return"));
  CHECK_THAT(recsys_error(header + std::string(std::size_t{2} << 20, 'x') + "\n", spec),
             Contains("longer than 1 MiB"));
  CHECK_THAT(recsys_error("userId,film,age,liked\n7,a,1,1\n", spec),
             Contains("dataset.categorical") && Contains("movieId"));
  DatasetSpec twice = spec;
  twice.recsys.numeric = {"liked"};
  CHECK_THAT(recsys_error(ratings, twice), Contains("dataset.label_column"));
  DatasetSpec beyond = spec;
  beyond.recsys.numeric = {"4"};
  CHECK_THAT(recsys_error(ratings, beyond), Contains("dataset.numeric has column 4"));
}

}  // namespace trainyard::runtime
