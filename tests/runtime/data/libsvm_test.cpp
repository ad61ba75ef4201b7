#include "runtime/data/libsvm.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/core/sampler.h"
#include "runtime/data/prefetch.h"
#include "tests/runtime/data/batches.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

using Catch::Matchers::Contains;

struct Files {
  std::string train;
  std::string test;  // "" = none
};

Result<std::unique_ptr<Dataset>> try_open(const Files& files, DatasetSpec spec = {},
                                          std::uint64_t seed = 1) {
  const TempFolder folder;
  spec.format = "libsvm";
  spec.path = folder.write("data.train", files.train);
  if (!files.test.empty()) spec.test_path = folder.write("data.test", files.test);
  return open_libsvm(spec, seed);
}

std::unique_ptr<Dataset> open(const Files& files, const DatasetSpec& spec = {},
                              std::uint64_t seed = 1) {
  auto data = try_open(files, spec, seed);
  if (!data) FAIL(data.error().message);
  return std::move(data).value();
}

std::string error_of(const std::string& train, const DatasetSpec& spec = {}) {
  const auto data = try_open({train, "+1 1:1\n"}, spec);
  REQUIRE_FALSE(data);
  CHECK(data.error().code == Code::invalid);
  CHECK_THAT(data.error().message, Contains("data.train") || Contains("data.test"));
  return data.error().message;
}

// Two examples that are good, then this line.
std::string error_of_line(const std::string& line) {
  return error_of("+1 1:1\n-1 2:1\n" + line + "\n");
}

// n examples: their number as the value of feature 1 and, in every third, of feature 5.
std::string many(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += i % 2 == 0 ? "+1" : "-1";
    text += " 1:" + std::to_string(i);
    if (i % 3 == 0) text += " 5:" + std::to_string(i);
    text += "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("LibSVM files give rows of what is there, and two classes", "[libsvm]") {
  const auto data =
      open({"# a comment\n"
            "+1 1:0.5 3:-2e1 7:1 # and another\r\n"
            "\n"
            "-1\n"
            "  -1 \t 2:+4   3:0  \n",
            "\xEF\xBB\xBF-1 9:1\n+1 1:1"});

  CHECK(data->shape() ==
        DataShape{.example = {9}, .features = 9, .classes = 2, .layout = FeatureLayout::sparse});
  const Batch train = read_all(*data, Split::train);
  CHECK(train.examples == 3);
  CHECK(train.labels == std::vector<std::int32_t>{1, 0, 0});
  CHECK(train.sparse.offsets == std::vector<std::int64_t>{0, 3, 3, 5});
  CHECK(train.sparse.columns == std::vector<std::int32_t>{0, 2, 6, 1, 2});
  CHECK(train.sparse.values == std::vector<float>{0.5F, -20.0F, 1.0F, 4.0F, 0.0F});
  CHECK(train.features.empty());
  CHECK(train.targets.empty());
  const Batch test = read_all(*data, Split::test);
  CHECK(test.labels == std::vector<std::int32_t>{0, 1});
  CHECK(test.sparse.columns == std::vector<std::int32_t>{8, 0});
}

TEST_CASE("the smaller of two labels is class 0, whichever comes first", "[libsvm]") {
  for (const auto& [first, second, expected] :
       {std::tuple{"1", "0", std::vector<std::int32_t>{1, 0}},
        std::tuple{"0", "1", std::vector<std::int32_t>{0, 1}},
        std::tuple{"-1", "+1", std::vector<std::int32_t>{0, 1}},
        std::tuple{"2", "1.0", std::vector<std::int32_t>{1, 0}}}) {
    const std::string text = std::string(first) + " 1:1\n" + second + " 1:2\n";
    const auto data = open({text, text});
    CHECK(read_all(*data, Split::train).labels == expected);
    CHECK(read_all(*data, Split::test).labels == expected);
  }
}

TEST_CASE("without a test file a share of the examples is drawn by seed", "[libsvm]") {
  DatasetSpec spec;
  spec.test_fraction = 0.25;
  const auto data = open({many(40), ""}, spec);
  CHECK(data->size(Split::test) == 10);
  CHECK(data->size(Split::train) == 30);
  const auto first_values = [](const Batch& batch) {
    std::vector<float> values;
    for (std::size_t row = 0; row + 1 < batch.sparse.offsets.size(); ++row) {
      values.push_back(batch.sparse.values[static_cast<std::size_t>(batch.sparse.offsets[row])]);
    }
    return values;
  };
  auto all = first_values(read_all(*data, Split::train));
  const auto test = first_values(read_all(*data, Split::test));
  CHECK(std::ranges::is_sorted(all));
  CHECK(test == first_values(read_all(*open({many(40), ""}, spec), Split::test)));
  CHECK(test != first_values(read_all(*open({many(40), ""}, spec, 2), Split::test)));
  all.insert(all.end(), test.begin(), test.end());
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == static_cast<float>(i));

  spec.train_examples = 7;
  spec.test_examples = 3;
  const auto few = open({many(40), ""}, spec);
  CHECK(few->size(Split::train) == 7);
  CHECK(few->size(Split::test) == 3);
  spec.train_examples = 31;
  CHECK_THAT(try_open({many(40), ""}, spec).error().message, Contains("dataset.train_examples"));
}

TEST_CASE("the number of features can be given, and is a bound then", "[libsvm]") {
  DatasetSpec spec;
  spec.features = 100;
  CHECK(open({many(4), ""}, spec)->shape().features == 100);
  spec.features = 4;
  CHECK_THAT(try_open({many(4), ""}, spec).error().message,
             Contains("line 1") && Contains("dataset.features, 4"));
  CHECK_THAT(try_open({"1 1:1\n0 2:1\n", "1 1:1\n\n1 1:1 7654321:2\n"}, spec).error().message,
             Contains("data.test") && Contains("line 3") && !Contains("7654321"));
}

TEST_CASE("a fault of a LibSVM file is told with its file and line", "[libsvm]") {
  CHECK_THAT(error_of_line("one 1:1"),
             Contains("line 3") && Contains("column 1: expected a label"));
  CHECK_THAT(error_of_line("1:1 2:1"),
             Contains("line 3") && Contains("column 1: expected a label"));
  CHECK_THAT(error_of_line("+-1 2:1"), Contains("line 3") && Contains("label"));
  CHECK_THAT(error_of_line("inf 2:1"), Contains("line 3") && Contains("label"));
  CHECK_THAT(error_of_line("+1 qid:3 1:1"), Contains("line 3") && Contains("qid"));
  CHECK_THAT(error_of_line("+1 0:1"), Contains("line 3") && Contains("count from 1"));
  CHECK_THAT(error_of_line("+1 3:1 2:1"),
             Contains("line 3") && Contains("column 8: indices must ascend"));
  CHECK_THAT(error_of_line("+1 3:1 3:1"), Contains("line 3") && Contains("ascend"));
  CHECK_THAT(error_of_line("+1 -3:1"),
             Contains("line 3") && Contains("column 4: expected an index"));
  CHECK_THAT(error_of_line("+1 x:1"),
             Contains("line 3") && Contains("column 4: expected an index"));
  CHECK_THAT(error_of_line("+1 2147483648:1"), Contains("line 3") && Contains("2147483647"));
  CHECK_THAT(error_of_line("+1 99999999999999999999:1"), Contains("line 3") && Contains("index"));
  CHECK_THAT(error_of_line("+1 3:"), Contains("line 3") && Contains("column 6: expected a value"));
  CHECK_THAT(error_of_line("+1 3"),
             Contains("line 3") && Contains("column 4: expected index:value"));
  CHECK_THAT(error_of_line("+1 3:1x"),
             Contains("line 3") && Contains("column 6: expected a value"));
  CHECK_THAT(error_of_line("+1 3:nan"), Contains("line 3") && Contains("a finite number"));
  CHECK_THAT(error_of_line("+1 3:1e39"), Contains("line 3") && Contains("a finite number"));
  CHECK_THAT(error_of_line("+1 3:1:2"),
             Contains("line 3") && Contains("column 6: expected a value"));
  CHECK_THAT(error_of_line("2.5 3:1"),
             Contains("line 3") && Contains("a third one") && !Contains("2.5"));
}

TEST_CASE("files without examples, features or a second class are refused", "[libsvm]") {
  CHECK_THAT(error_of("# nothing\n\n"), Contains("no examples"));
  CHECK_THAT(error_of("1 1:1\n1 2:1\n"), Contains("all labels are the same"));
  CHECK_THAT(try_open({"1\n0\n", "1\n"}).error().message, Contains("no example has a feature"));
  CHECK_THAT(try_open({"1 1:1\n0 1:1\n", "#\n"}).error().message,
             Contains("data.test") && Contains("no examples"));
  CHECK_THAT(try_open({"1 1:1\n0 1:1\n", "0 1:1\n-2.5 1:1\n"}).error().message,
             Contains("data.test") && Contains("line 2") && !Contains("-2.5"));
}

TEST_CASE("a missing LibSVM file is named with its field", "[libsvm]") {
  const TempFolder folder;
  DatasetSpec spec;
  spec.format = "libsvm";
  spec.path = folder.path() + "/none";
  auto missing = open_dataset(spec, 1);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Code::not_found);
  CHECK_THAT(missing.error().message, Contains("dataset.path") && Contains(spec.path));
  spec.path = folder.write("train", "1 1:1\n0 1:1\n");
  spec.test_path = folder.path();
  missing = open_dataset(spec, 1);
  REQUIRE_FALSE(missing);
  CHECK_THAT(missing.error().message, Contains("dataset.test_path") && Contains(folder.path()));
}

TEST_CASE("sparse batches are read ahead as the sampler says", "[libsvm][prefetch]") {
  const auto data = open({many(50), many(5)});
  const Sampler sampler(9, data->size(Split::train));
  const BatchPlan plan{.first_leaf = 1, .leaf_count = 2, .leaves = 3, .batch_size = 7};
  Prefetcher prefetcher(*data, sampler, plan);
  prefetcher.start();
  for (std::int64_t step = 1; step <= 10; ++step) {
    for (std::int64_t leaf = 1; leaf <= 2; ++leaf) {
      std::vector<std::int64_t> indices(7);
      sampler.fill(batch_position(step, leaf, 3, 7), indices);
      Batch expected;
      REQUIRE(data->read({Split::train, indices}, expected));
      const Batch* const batch = *prefetcher.next();
      REQUIRE(batch != nullptr);
      REQUIRE(batch->sparse == expected.sparse);
      REQUIRE(batch->labels == expected.labels);
    }
  }
}

}  // namespace trainyard::runtime
