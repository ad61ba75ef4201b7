#include "runtime/data/text.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "tests/runtime/data/batches.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

using Catch::Matchers::Contains;
using Ids = std::vector<std::int32_t>;

DatasetSpec text_spec(std::string path) {
  DatasetSpec spec;
  spec.format = "text";
  spec.path = std::move(path);
  spec.label_column = "label";
  spec.sequence.text_column = "text";
  spec.sequence.tokenizer = {.name = TokenizerName::words, .vocabulary = 50};
  spec.sequence.length = 4;
  return spec;
}

std::string text_error(const DatasetSpec& spec) {
  const auto data = open_text(spec, 1);
  return data ? "" : data.error().message;
}

Ids row(const Batch& batch, std::size_t i, std::size_t length) {
  const auto first = batch.ids.begin() + static_cast<std::ptrdiff_t>(i * length);
  return {first, first + static_cast<std::ptrdiff_t>(length)};
}

// A text of its own in each row, its label the row's number modulo 2.
std::string numbered_rows(int count) {
  std::string text = "id,text,label\n";
  for (int i = 0; i < count; ++i) {
    text += std::to_string(i) + ",\"all, of w" + std::to_string(i) + "\"," +
            (i % 2 == 0 ? "ham" : "spam") + "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("texts of a CSV file are padded lists of ids with a class each", "[text]") {
  const TempFolder folder;
  DatasetSpec spec = text_spec(folder.write("mails.csv", numbered_rows(40)));
  spec.test_fraction = 0.25;
  const auto data = open_text(spec, 3);
  REQUIRE(data);
  CHECK((*data)->shape() == DataShape{.example = {4},
                                      .features = 4,
                                      .classes = 2,
                                      .layout = FeatureLayout::ids,
                                      .vocabulary = 50,
                                      .class_names = {"ham", "spam"}});
  const Batch train = read_all(**data, Split::train);
  const Batch test = read_all(**data, Split::test);
  REQUIRE(train.examples == 30);
  REQUIRE(test.examples == 10);
  CHECK(train.features.empty());
  CHECK(train.targets.empty());
  // "all" and "of" come most often; a word that only the test split has is unknown.
  std::set<std::int32_t> own;
  for (std::size_t i = 0; i < 30; ++i) {
    CHECK(train.lengths[i] == 3);
    const Ids ids = row(train, i, 4);
    CHECK(ids[0] == 2);
    CHECK(ids[1] == 3);
    own.insert(ids[2]);
    CHECK(ids[3] == 0);
  }
  CHECK(own.size() == 30);
  CHECK(*own.begin() == 4);
  CHECK(*own.rbegin() == 33);
  for (std::size_t i = 0; i < 10; ++i) CHECK(row(test, i, 4) == Ids{2, 3, 1, 0});
}

TEST_CASE("texts are cut at the length, and one without a token has length 1", "[text]") {
  const TempFolder folder;
  DatasetSpec spec =
      text_spec(folder.write("t.csv", "text,label\na b c d e f,0\n!!!,1\n,1\na,0\na,0\na,1\n"));
  spec.sequence.tokenizer.name = GENERATE(TokenizerName::words, TokenizerName::bytes);
  const bool is_words = spec.sequence.tokenizer.name == TokenizerName::words;
  spec.sequence.length = 3;
  const auto data = open_text(spec, 1);
  REQUIRE(data);
  CHECK((*data)->shape().vocabulary == (is_words ? 50 : 257));
  std::multiset<std::int32_t> lengths;
  bool has_empty = false;
  for (const Split split : {Split::train, Split::test}) {
    const Batch batch = read_all(**data, split);
    lengths.insert(batch.lengths.begin(), batch.lengths.end());
    for (std::size_t i = 0; i < batch.lengths.size(); ++i) {
      has_empty |= row(batch, i, 3) == Ids{is_words ? 1 : 0, 0, 0};
    }
  }
  CHECK(has_empty);
  CHECK(lengths == (is_words ? std::multiset<std::int32_t>{1, 1, 1, 1, 1, 3}
                             : std::multiset<std::int32_t>{1, 1, 1, 1, 3, 3}));
}

TEST_CASE("columns of texts are given by position too, and there is no header then", "[text]") {
  const TempFolder folder;
  DatasetSpec spec = text_spec(folder.write("t.csv", "1.5,x\n2.5,y\n0.5,z\n0.25,z\n"));
  spec.sequence.text_column = "1";
  spec.label_column = "0";
  const auto data = open_text(spec, 1);
  REQUIRE(data);
  CHECK((*data)->shape().classes == 0);
  CHECK((*data)->size(Split::train) + (*data)->size(Split::test) == 4);
  const Batch train = read_all(**data, Split::train);
  CHECK(train.labels.empty());
  CHECK(train.targets.size() == 3);
}

TEST_CASE("texts in folders have the folder's class", "[text]") {
  const TempFolder folder;
  folder.write("train/ham/1.txt", "\xEF\xBB\xBFHello there");
  folder.write("train/ham/notes.md", "passed over");
  folder.write("train/spam/a.txt", "buy\nthere there");
  folder.write("test/spam/x.txt", "buy hello");
  const auto data = open_text(text_spec(folder.path()), 1);
  REQUIRE(data);
  CHECK((*data)->shape().classes == 2);
  CHECK((*data)->shape().class_names == std::vector<std::string>{"ham", "spam"});
  const Batch train = read_all(**data, Split::train);
  CHECK(train.labels == Ids{0, 1});
  // there 3 times, then buy and hello once each
  CHECK(train.ids == Ids{4, 2, 0, 0, 3, 2, 2, 0});
  CHECK(train.lengths == Ids{2, 3});
  const Batch test = read_all(**data, Split::test);
  CHECK(test.ids == Ids{3, 4, 0, 0});
  CHECK(test.labels == Ids{1});
}

TEST_CASE("what is wrong with texts is said with file and line, and never the text", "[text]") {
  const TempFolder folder;
  const auto error = [&folder](const std::string& content) {
    return text_error(text_spec(folder.write("t.csv", content)));
  };
  CHECK_THAT(error("text,label\na,x\nb\xFFsecret,y\n"),
             Contains("t.csv") && Contains("line 3 is not UTF-8") && !Contains("secret"));
  CHECK_THAT(error("text,label\na,x\nb\n"), Contains("line 3 has 1 cells, the first has 2"));
  CHECK_THAT(error("text,label\na,x\nb,\n"), Contains("line 3 has an empty label"));
  CHECK_THAT(error("text,kind\na,x\n"), Contains("names no column \"label\""));
  CHECK_THAT(error("text,label\n"), Contains("has no rows"));
  CHECK_THAT(error("text,label\na,x\nb,x\n"), Contains("one class only"));
  CHECK_THAT(error("text,label\na,x\n\"b,y\n"), Contains("line 3: a quote is opened"));
  DatasetSpec spec = text_spec(folder.write("t.csv", "a,x\nb,y\n"));
  spec.sequence.text_column = "0";
  spec.label_column = "0";
  CHECK_THAT(text_error(spec), Contains("are the same"));
  spec.label_column = "2";
  CHECK_THAT(text_error(spec), Contains("dataset.label_column is 2"));

  folder.write("set/ham/1.txt", "a");
  folder.write("set/spam/2.txt", "fine\nb\xC3");
  DatasetSpec bytes = text_spec(folder.path("set"));
  bytes.test_fraction = 0.5;
  CHECK_THAT(text_error(bytes), Contains("2.txt") && Contains("line 2 is not UTF-8"));
  bytes.sequence.tokenizer.name = TokenizerName::bytes;
  CHECK(text_error(bytes).empty());
  std::filesystem::remove(folder.path("set/spam/2.txt"));
  CHECK_THAT(text_error(text_spec(folder.path("set"))), Contains("spam has no .txt files"));
  CHECK_THAT(text_error(text_spec(folder.path("none"))), Contains("there is no file"));
}

TEST_CASE("a batch is as long as the first bucket that holds its longest text", "[text]") {
  const TempFolder folder;
  std::string csv = "text,label\n";
  for (int words = 1; words <= 8; ++words) {
    for (int i = 0; i < words; ++i) csv += "w ";
    csv += words % 2 == 0 ? ",a\n" : ",b\n";
  }
  DatasetSpec spec = text_spec(folder.write("long.csv", csv));
  spec.test_fraction = 0.2;
  spec.sequence.length = 8;
  const auto plain = open_text(spec, 1);
  spec.sequence.buckets = {2, 5, 8};
  const auto data = open_text(spec, 1);
  REQUIRE(plain);
  REQUIRE(data);
  CHECK((*data)->shape().buckets == spec.sequence.buckets);
  CHECK((*data)->shape().features == 8);
  for (std::int64_t first = 0; first < (*data)->size(Split::train); ++first) {
    const std::vector<std::int64_t> alone{first};
    Batch batch;
    Batch whole;
    REQUIRE((*data)->read({.split = Split::train, .indices = alone}, batch));
    REQUIRE((*plain)->read({.split = Split::train, .indices = alone}, whole));
    const std::int32_t length = batch.lengths[0];
    CHECK(length == whole.lengths[0]);
    CHECK(std::ssize(batch.ids) == (length <= 2 ? 2 : length <= 5 ? 5 : 8));
    whole.ids.resize(batch.ids.size());
    CHECK(batch.ids == whole.ids);
    CHECK(batch.labels == whole.labels);
  }
  CHECK(std::ssize(read_all(**data, Split::train).ids) == 8 * (*data)->size(Split::train));
}

TEST_CASE("texts that are kept decoded are those of the same seed and tokens", "[text]") {
  const TempFolder folder;
  const TempFolder kept;
  DatasetSpec spec = text_spec(folder.write("mails.csv", numbered_rows(40)));
  std::filesystem::last_write_time(
      spec.path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  const DataCache cache({.folder = kept.path(), .bytes_max = 1 << 20});
  const auto first = open_text(spec, 3, cache);
  REQUIRE(first);
  const auto again = open_text(spec, 3, cache);
  REQUIRE(again);
  CHECK(read_all(**first, Split::train).ids == read_all(**again, Split::train).ids);
  CHECK((*first)->words().starts_with("<padding>\n<unknown>\nall\nof\nw"));
  CHECK((*first)->words() == (*again)->words());
  CHECK(shape_of(**first) == shape_of(**again));
  const auto other = open_text(spec, 4, cache);
  REQUIRE(other);
  CHECK(read_all(**first, Split::train).ids != read_all(**other, Split::train).ids);
  spec.sequence.tokenizer.vocabulary = 5;
  const auto fewer = open_text(spec, 3, cache);
  REQUIRE(fewer);
  CHECK((*fewer)->shape().vocabulary == 5);
  CHECK(shape_of(**fewer).words_sha256 != shape_of(**first).words_sha256);
  spec.sequence.tokenizer.name = TokenizerName::bytes;
  const auto bytes = open_text(spec, 3, cache);
  REQUIRE(bytes);
  CHECK((*bytes)->words().empty());
  CHECK(shape_of(**bytes).words_sha256.empty());
}

}  // namespace trainyard::runtime
