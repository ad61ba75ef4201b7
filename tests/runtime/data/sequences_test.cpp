#include "runtime/data/sequences.h"

#include <catch2/catch.hpp>
#include <map>

#include "tests/runtime/data/batches.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

using Catch::Matchers::Contains;

DatasetSpec series_spec(std::string path, std::int64_t features) {
  DatasetSpec spec;
  spec.format = "sequences";
  spec.path = std::move(path);
  spec.features = features;
  return spec;
}

std::string series_error(const DatasetSpec& spec) {
  const auto data = open_sequences(spec, 1);
  return data ? "" : data.error().message;
}

struct Example {
  std::vector<float> features;
  std::int32_t length = 0;
  bool operator==(const Example&) const = default;
};

// Of both splits, by the first number.
std::map<float, Example> examples_of(const Dataset& data) {
  std::map<float, Example> examples;
  const auto width = static_cast<std::size_t>(data.shape().features);
  for (const Split split : {Split::train, Split::test}) {
    const Batch batch = read_all(data, split);
    REQUIRE(batch.features.size() == width * static_cast<std::size_t>(batch.examples));
    for (std::size_t i = 0; i < batch.lengths.size(); ++i) {
      const auto first = batch.features.begin() + static_cast<std::ptrdiff_t>(i * width);
      examples[*first] = {{first, first + static_cast<std::ptrdiff_t>(width)}, batch.lengths[i]};
    }
  }
  return examples;
}

}  // namespace

TEST_CASE("series in CSV lines are padded to the longest", "[sequences]") {
  const TempFolder folder;
  const auto data = open_sequences(series_spec(folder.write("s.csv",
                                                            "a,b,c,d,kind\n"
                                                            "1,2,3,4,x\n"
                                                            "5,6,,,y\n"
                                                            "7,8,9,10,y\n"),
                                               2),
                                   1);
  REQUIRE(data);
  CHECK((*data)->shape() == DataShape{.example = {2, 2},
                                      .features = 4,
                                      .classes = 2,
                                      .layout = FeatureLayout::sequence,
                                      .class_names = {"x", "y"}});
  CHECK((*data)->size(Split::test) == 1);
  const auto examples = examples_of(**data);
  CHECK(examples.at(1) == Example{{1, 2, 3, 4}, 2});
  CHECK(examples.at(5) == Example{{5, 6, 0, 0}, 1});
  CHECK(examples.at(7) == Example{{7, 8, 9, 10}, 2});
}

TEST_CASE("the label's column of series may be the first, and their length is given",
          "[sequences]") {
  const TempFolder folder;
  DatasetSpec spec = series_spec(folder.write("s.csv", "0.5,1,2\n1.5,3\n2.5,4,5,6\n3.5,7\n"), 1);
  spec.label_column = "0";
  spec.sequence.length = 4;
  const auto data = open_sequences(spec, 1);
  REQUIRE(data);
  CHECK((*data)->shape().example == std::vector<std::int64_t>{4, 1});
  CHECK((*data)->shape().classes == 0);
  const auto examples = examples_of(**data);
  CHECK(examples.at(4) == Example{{4, 5, 6, 0}, 3});
  CHECK(examples.at(3) == Example{{3, 0, 0, 0}, 1});
  CHECK(read_all(**data, Split::train).targets.size() == 3);
  spec.sequence.length = 2;
  CHECK_THAT(series_error(spec),
             Contains("s.csv: line 3: has 3 time steps, more than dataset.length"));
}

TEST_CASE("series in JSON lines have a list for each time step", "[sequences]") {
  const TempFolder folder;
  const auto data = open_sequences(
      series_spec(folder.write("s.jsonl", R"({"features": [[1, 2], [3, 4.5]], "label": "up"})"
                                          "\n\n"
                                          R"({"label": "down", "features": [[-5, 1e-3]]})"
                                          "\r\n"
                                          R"({"label": "down", "features": [[6, 7]]})"),
                  2),
      1);
  REQUIRE(data);
  CHECK((*data)->shape().classes == 2);
  CHECK((*data)->shape().class_names == std::vector<std::string>{"down", "up"});
  const auto examples = examples_of(**data);
  CHECK(examples.at(1) == Example{{1, 2, 3, 4.5F}, 2});
  CHECK(examples.at(-5) == Example{{-5, 1e-3F, 0, 0}, 1});

  const auto plain =
      open_sequences(series_spec(folder.write("p.json", R"({"features": [1, [2], 3], "label": 0})"
                                                        "\n"
                                                        R"({"features": [4], "label": 1})"
                                                        "\n"
                                                        R"({"features": [5], "label": 1})"),
                                 1),
                     1);
  REQUIRE(plain);
  CHECK((*plain)->shape().classes == 2);
  CHECK(examples_of(**plain).at(1) == Example{{1, 2, 3}, 3});
}

TEST_CASE("what is wrong with series is said with file and line", "[sequences]") {
  const TempFolder folder;
  const auto csv = [&folder](const std::string& content) {
    return series_error(series_spec(folder.write("s.csv", content), 2));
  };
  CHECK_THAT(csv("1,2,x\n1,2,3,y\n"), Contains("s.csv: line 2: has 3 numbers, which is not a"));
  CHECK_THAT(csv("1,2,x\n1,secret,y\n"),
             Contains("line 2: column 1 (counted from 0)") && !Contains("secret"));
  CHECK_THAT(csv("1,2,x\n1,nan,y\n"), Contains("line 2: column 1"));
  CHECK_THAT(csv("1,2,x\n1,,3,4,y\n"), Contains("line 2: column 1"));
  CHECK_THAT(csv("1,2,x\n,,y\n"), Contains("line 2: has no time step"));
  CHECK_THAT(csv("1,2,x\n1,2,\n"), Contains("line 2: has an empty label"));
  CHECK_THAT(csv("a,b,c\n"), Contains("has no rows"));
  CHECK_THAT(csv("1,2,x\n3,4,x\n"), Contains("one class only"));
  const auto jsonl = [&folder](const std::string& line) {
    return series_error(series_spec(folder.write("s.jsonl", R"({"features": [[1, 2]], "label": 0})"
                                                            "\n" +
                                                                line + "\n"),
                                    2));
  };
  CHECK_THAT(jsonl("{\"secret"), Contains("line 2: is no JSON") && !Contains("secret"));
  CHECK_THAT(jsonl(R"({"features": [1e400], "label": 1})"),
             Contains("line 2: has a key twice, a number that no double can hold"));
  CHECK_THAT(jsonl(R"({"label": 1, "secret": 2, "secret": 3})"),
             Contains("line 2: has a key twice") && !Contains("secret"));
  CHECK_THAT(jsonl("[1, 2]"), Contains("line 2: is no object with"));
  CHECK_THAT(jsonl("7"), Contains("line 2: is no object with"));
  CHECK_THAT(jsonl(R"({"features": [[1, 2]]})"), Contains("line 2: is no object with"));
  CHECK_THAT(jsonl(R"({"features": [[1, 2]], "label": [1]})"), Contains("neither a number nor"));
  CHECK_THAT(jsonl(R"({"features": [[1, 2]], "label": ""})"), Contains("empty label"));
  CHECK_THAT(jsonl(R"({"features": [], "label": 1})"), Contains("line 2: has no time step"));
  CHECK_THAT(jsonl(R"({"features": [1, 2], "label": 1})"), Contains("is not a list of"));
  CHECK_THAT(jsonl(R"({"features": [[1]], "label": 1})"), Contains("is not a list of"));
  CHECK_THAT(jsonl(R"({"features": [[1, "2"]], "label": 1})"), Contains("expected a finite"));
  CHECK_THAT(jsonl(R"({"features": [[1, 1e39]], "label": 1})"), Contains("expected a finite"));
}

}  // namespace trainyard::runtime
