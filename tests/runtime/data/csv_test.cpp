#include "runtime/data/csv.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/runtime/data/batches.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

using Catch::Matchers::Contains;

struct Opened {
  std::unique_ptr<Dataset> data;
  Batch train;
  Batch test;
};

Result<std::unique_ptr<Dataset>> try_open(const std::string& text, DatasetSpec spec = {},
                                          std::uint64_t seed = 1) {
  const TempFolder folder;
  spec.format = "csv";
  spec.path = folder.write("table.csv", text);
  return open_csv(spec, seed);
}

Opened open(const std::string& text, const DatasetSpec& spec = {}, std::uint64_t seed = 1) {
  auto data = try_open(text, spec, seed);
  if (!data) FAIL(data.error().message);
  Opened opened{.data = std::move(data).value(), .train = {}, .test = {}};
  opened.train = read_all(*opened.data, Split::train);
  opened.test = read_all(*opened.data, Split::test);
  return opened;
}

std::string error_of(const std::string& text, const DatasetSpec& spec = {}) {
  const auto data = try_open(text, spec);
  REQUIRE_FALSE(data);
  CHECK_THAT(data.error().message, Contains("table.csv"));
  return data.error().message;
}

DatasetSpec label_column(const std::string& name) {
  DatasetSpec spec;
  spec.label_column = name;
  return spec;
}

// n rows: i, 10 i, label
std::string rows(int count, const std::function<std::string(int)>& label) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += std::to_string(i) + "," + std::to_string(10 * i) + "," + label(i) + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("a CSV file with a header gives its numbers as features and names as classes", "[csv]") {
  const Opened opened = open(
      "length,\"width, at most\",kind\r\n"
      "1.5, -2e1 ,pear\r\n"
      "+3,4,\"apple\"\r\n"
      "\r\n"
      "5,6,pear\r\n");

  REQUIRE(opened.data->shape() ==
          DataShape{.example = {2}, .features = 2, .classes = 2, .class_names = {"apple", "pear"}});
  REQUIRE(opened.train.examples + opened.test.examples == 3);
  const auto has_row = [&](float a, float b, std::int32_t label) {
    for (const Batch* const batch : {&opened.train, &opened.test}) {
      for (std::size_t i = 0; i < batch->labels.size(); ++i) {
        if (batch->features[2 * i] == a && batch->features[2 * i + 1] == b)
          return batch->labels[i] == label;
      }
    }
    return false;
  };
  REQUIRE(has_row(1.5F, -20.0F, 1));  // apple is 0, pear 1
  REQUIRE(has_row(3.0F, 4.0F, 0));
  REQUIRE(has_row(5.0F, 6.0F, 1));
}

TEST_CASE("the label column is found by name, by position, or is the last", "[csv]") {
  const std::string text = "a,kind,b\n1,x,2\n3,y,4\n5,x,6\n";
  for (const char* const column : {"kind", "1"}) {
    const Opened opened = open(text, label_column(column));
    REQUIRE(opened.data->shape().features == 2);
    REQUIRE(opened.train.examples + opened.test.examples == 3);
    REQUIRE(opened.data->shape().classes == 2);
  }
  const Opened plain = open("1,2,x\n3,4,y\n5,6,x\n");
  REQUIRE(plain.train.examples + plain.test.examples == 3);
}

TEST_CASE("labels that are all of 0 to k-1 are classes, other numbers are targets", "[csv]") {
  const Opened numbered = open(rows(6, [](int i) { return std::to_string(i % 3); }));
  REQUIRE(numbered.data->shape().classes == 3);
  REQUIRE(numbered.data->shape().class_names.empty());
  REQUIRE(open(rows(6, [](int i) { return std::to_string(1 + i % 3); })).data->shape().classes ==
          0);
  REQUIRE(open(rows(6, [](int i) { return std::to_string(2 * (i % 3)); })).data->shape().classes ==
          0);
  REQUIRE(open(rows(6, [](int i) { return std::to_string(i % 3) + ".0"; })).data->shape().classes ==
          0);

  const Opened real = open(rows(6, [](int i) { return std::to_string(i) + ".5"; }));
  REQUIRE(real.train.labels.empty());
  REQUIRE(std::ssize(real.train.targets) == real.train.examples);
  for (std::size_t i = 0; i < real.train.targets.size(); ++i) {
    REQUIRE(real.train.targets[i] == real.train.features[2 * i] + 0.5F);
  }
}

TEST_CASE("a byte order mark is no part of a CSV file's first cell", "[csv]") {
  const std::string mark = "\xEF\xBB\xBF";
  for (const std::string& head : {std::string("label,x\n"), std::string()}) {
    const std::string text = head + "0,1.5\n1,2.5\n0,3.5\n1,4.5\n";
    const DatasetSpec spec = label_column(head.empty() ? "0" : "label");
    const Opened plain = open(text, spec);
    const Opened marked = open(mark + text, spec);
    CHECK(marked.data->shape() == plain.data->shape());
    CHECK(marked.train.features == plain.train.features);
    CHECK(marked.train.labels == plain.train.labels);
  }
}

TEST_CASE("what is too small for a float is 0, what is too large is refused", "[csv]") {
  DatasetSpec spec;
  spec.test_fraction = 0.2;
  const Opened tiny = open("1e-46,0\n-1e-60,1\n+1e-400,0\n1e-99999,1\n1.4e-45,0\n", spec);
  std::multiset<float> seen(tiny.train.features.begin(), tiny.train.features.end());
  seen.insert(tiny.test.features.begin(), tiny.test.features.end());
  CHECK(seen == std::multiset<float>{0, 0, 0, 0, 1.4e-45F});
  for (const char* number : {"1e39", "-1e39", "1e400", "1e99999", "1e-46x", "1e-", "nan"}) {
    CHECK_THAT(error_of("1,0\n" + std::string(number) + ",1\n2,0\n3,1\n"),
               Contains("line 2, column 0"));
  }
}

TEST_CASE("the split is a share of the rows, drawn by seed, without overlap", "[csv]") {
  const std::string text = rows(100, [](int i) { return std::to_string(i % 2); });
  DatasetSpec spec;
  spec.test_fraction = 0.25;
  const Opened first = open(text, spec, 1);
  const Opened again = open(text, spec, 1);
  const Opened other = open(text, spec, 2);

  REQUIRE(first.test.examples == 25);
  REQUIRE(first.train.examples == 75);
  REQUIRE(first.test.features == again.test.features);
  REQUIRE(first.test.features != other.test.features);
  std::vector<float> seen;
  for (const Batch* const batch : {&first.train, &first.test}) {
    for (std::size_t i = 0; i < batch->labels.size(); ++i) seen.push_back(batch->features[2 * i]);
  }
  std::ranges::sort(seen);
  for (std::size_t i = 0; i < 100; ++i) REQUIRE(seen[i] == static_cast<float>(i));
}

TEST_CASE("the first examples of a CSV file's splits are taken where the spec asks", "[csv]") {
  const std::string text = rows(100, [](int i) { return std::to_string(i % 2); });
  DatasetSpec spec;
  spec.train_examples = 10;
  spec.test_examples = 5;
  const Opened opened = open(text, spec);
  REQUIRE(opened.train.examples == 10);
  REQUIRE(opened.test.examples == 5);
  spec.train_examples = 81;
  REQUIRE_THAT(error_of(text, spec),
               Contains("dataset.train_examples is 81") && Contains("80 rows"));
}

TEST_CASE("a bad cell is named by line and column", "[csv]") {
  CHECK_THAT(error_of("a,b,kind\n1,2,x\n3,oops,y\n"),
             Contains("line 3") && Contains("column 1 ") && !Contains("oops"));
  CHECK_THAT(error_of("1,2,x\n3,nan,y\n"), Contains("line 2") && Contains("column 1"));
  CHECK_THAT(error_of("1,2,x\n3,,y\n"), Contains("line 2") && Contains("a finite number"));
  CHECK_THAT(error_of("1,2,x\n3,1e999,y\n"), !Contains("1e999"));
  CHECK_THAT(error_of("1,2,x\n\n3,4\n"), Contains("line 3 has 2 cells, the first has 3"));
  CHECK_THAT(error_of("1,2,x\n3,4,\n"), Contains("line 2 has an empty label"));
  CHECK_THAT(error_of("1,2,5.5\n3,4,6.5\n5,6,slip\n"), Contains("line 3") && !Contains("slip"));
  CHECK_THAT(error_of("1,2,x\n3,\"4,y\n"), Contains("line 2") && Contains("never closed"));
  CHECK_THAT(error_of("1,2,x\n3,\"4\"5,y\n"),
             Contains("line 2") && Contains("after a closing quote"));
}

TEST_CASE("a first row with a bad number is refused and not lost as a header", "[csv]") {
  for (const std::string row : {"1,1e400,0", "1,nan,0", "1,inf,x", "nan,1,x", "1,,0", "nan,nan,x",
                                "1,oops,x", "1e400,-,x", "a,b,5"}) {
    INFO(row);
    const std::string said = error_of("\n" + row + "\n1,2,0\n3,4,1\n");
    const bool is_second = row.starts_with("1,");
    CHECK_THAT(said, Contains(is_second ? "line 2, column 1" : "line 2, column 0") &&
                         Contains("a first line of names has no numbers"));
  }
  CHECK_THAT(error_of("1,oops,3\n1,2,0\n3,4,1\n", label_column("0")), Contains("column 1"));
  for (const char* const header : {"a,b,kind\n", "a,,\n", "a-1,2b,1.2.3\n"}) {
    const Opened opened = open(std::string(header) + "1,2,0\n3,4,1\n5,6,0\n");
    CHECK(opened.train.examples + opened.test.examples == 3);
  }
  // Who names a column says that there is a header, whatever else is in it.
  const Opened named = open("2019,2020,kind\n1,2,0\n3,4,1\n5,6,0\n", label_column("kind"));
  CHECK(named.train.examples + named.test.examples == 3);
}

TEST_CASE("labels that are all 0 are one class, all 0.0 are real targets", "[csv]") {
  CHECK_THAT(error_of("1,2,0\n3,4,0\n"), Contains("all labels are 0: one class only"));
  CHECK(open("1,2,0.0\n3,4,0.0\n5,6,0.0\n").data->shape().classes == 0);
}

TEST_CASE("a CSV file that cannot be a data set is refused with the reason", "[csv]") {
  CHECK_THAT(error_of(""), Contains("no rows"));
  CHECK_THAT(error_of("a,b,kind\n"), Contains("no rows"));
  CHECK_THAT(error_of("1\n2\n"), Contains("two columns"));
  CHECK_THAT(error_of("1,2,x\n3,4,x\n"), Contains("one class only"));
  CHECK_THAT(error_of("1,2,x\n"), Contains("one class only"));
  CHECK_THAT(error_of("1,2,x\n3,4,y\n", label_column("colour")), Contains("\"colour\""));
  CHECK_THAT(error_of("1,2,x\n3,4,y\n", label_column("3")), Contains("3 columns"));
  DatasetSpec all_test;
  all_test.test_fraction = 1.0;
  CHECK_THAT(error_of("1,2,x\n3,4,y\n", all_test), Contains("test_fraction"));

  DatasetSpec nowhere;
  nowhere.path = "/no/such/file.csv";
  const auto missing = open_csv(nowhere, 1);
  REQUIRE_FALSE(missing);
  REQUIRE(missing.error().code == Code::not_found);
  REQUIRE_THAT(missing.error().message, Contains("/no/such/file.csv"));
}

TEST_CASE("quoted cells may hold commas, quotes and line ends", "[csv]") {
  const Opened opened = open("a,kind\n1,\"x, \"\"y\"\"\nz\"\n2,plain\n3,plain\n");
  REQUIRE(opened.data->shape().class_names == std::vector<std::string>{"plain", "x, \"y\"\nz"});
  REQUIRE_THAT(error_of("a,kind\n1,\"x\ny\"\nbad,z\n"), Contains("line 4"));
}

}  // namespace trainyard::runtime
