#include "runtime/data/tokens.h"

#include <catch2/catch.hpp>

#include "tests/runtime/data/batches.h"
#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

using Catch::Matchers::Contains;
using Ids = std::vector<std::int32_t>;

DatasetSpec tokens_spec(std::string path, TokenStorage storage) {
  DatasetSpec spec;
  spec.format = "tokens";
  spec.path = std::move(path);
  spec.test_fraction = 0.25;
  spec.sequence = {.tokenizer = {.name = TokenizerName::bytes},
                   .length = 3,
                   .storage = storage,
                   .vocabulary = 1000};
  return spec;
}

std::string tokens_error(const DatasetSpec& spec) {
  const auto data = open_tokens(spec);
  if (!data) return data.error().message;
  Batch batch;
  for (const Split split : {Split::train, Split::test}) {
    for (std::int64_t i = 0; i < (*data)->size(split); ++i) {
      const Status status = (*data)->read({split, std::span(&i, 1)}, batch);
      if (!status) return status.error().message;
    }
  }
  return "";
}

// Little-endian ids of `width` bytes.
std::string stored(const std::vector<std::uint32_t>& ids, std::size_t width) {
  std::string bytes;
  for (const std::uint32_t id : ids) {
    for (std::size_t i = 0; i < width; ++i) bytes += static_cast<char>(id >> (8 * i));
  }
  return bytes;
}

}  // namespace

TEST_CASE("windows of a text's bytes are labelled with the bytes that follow", "[tokens]") {
  const TempFolder folder;
  // Four windows and three bytes that fill none.
  const auto data =
      open_tokens(tokens_spec(folder.write("t", "ABCDEFGHIJKLMNO"), TokenStorage::text));
  REQUIRE(data);
  CHECK((*data)->shape() == DataShape{.example = {3},
                                      .features = 3,
                                      .layout = FeatureLayout::ids,
                                      .labels = LabelLayout::tokens,
                                      .vocabulary = 257});
  const Batch train = read_all(**data, Split::train);
  CHECK(train.ids == Ids{66, 67, 68, 69, 70, 71, 72, 73, 74});
  CHECK(train.token_labels == Ids{67, 68, 69, 70, 71, 72, 73, 74, 75});
  CHECK(train.lengths == Ids{3, 3, 3});
  CHECK(train.labels.empty());
  const Batch test = read_all(**data, Split::test);
  CHECK(test.ids == Ids{75, 76, 77});
  CHECK(test.token_labels == Ids{76, 77, 78});
}

TEST_CASE("token files are read by their windows, in the order of their names", "[tokens]") {
  const TempFolder folder;
  const bool is_wide = GENERATE(false, true);
  const std::size_t width = is_wide ? 4 : 2;
  folder.write("b-2.bin", stored({10, 11, 12, 13, 14}, width));
  folder.write("b-1.bin", stored({0, 1, 2, 999, 4, 5, 6, 7}, width));
  folder.write("b-3.bin", stored({1}, width));  // too short for a window
  folder.write("b-4.bin", stored({20, 21, 22, 23}, width));
  folder.write("notes.txt", "passed over");
  DatasetSpec spec =
      tokens_spec(folder.path() + "/b-*.bin", is_wide ? TokenStorage::u32 : TokenStorage::u16);
  const auto data = open_tokens(spec);
  REQUIRE(data);
  CHECK((*data)->shape().vocabulary == 1000);
  const Batch train = read_all(**data, Split::train);
  CHECK(train.ids == Ids{0, 1, 2, 999, 4, 5, 10, 11, 12});
  CHECK(train.token_labels == Ids{1, 2, 999, 4, 5, 6, 11, 12, 13});
  CHECK(read_all(**data, Split::test).ids == Ids{20, 21, 22});
  spec.train_examples = 2;
  const auto fewer = open_tokens(spec);
  REQUIRE(fewer);
  CHECK((*fewer)->size(Split::train) == 2);
  CHECK(read_all(**fewer, Split::test).ids == Ids{20, 21, 22});
  spec.train_examples = 4;
  CHECK_THAT(tokens_error(spec), Contains("dataset.train_examples is 4"));
}

TEST_CASE("windows of merged bytes are those of the whole text", "[tokens]") {
  const TempFolder folder;
  DatasetSpec spec = tokens_spec(
      folder.write("t.txt", "the dog doesn't mind; the banana there doesn't, these bananas"),
      TokenStorage::text);
  spec.sequence.tokenizer = {.name = TokenizerName::bpe, .path = "tests/golden/bpe/tokenizer.json"};
  const auto data = open_tokens(spec);
  REQUIRE(data);
  CHECK((*data)->shape().vocabulary > 257);
  const Batch train = read_all(**data, Split::train);
  for (std::size_t i = 0; i + 1 < train.ids.size(); ++i) {
    CHECK(train.token_labels[i] == train.ids[i + 1]);
  }
  CHECK(*std::ranges::max_element(train.ids) > 256);
  folder.write("t.txt", "good\nbad \xFF");
  CHECK_THAT(tokens_error(spec), Contains("t.txt: line 2 is not UTF-8"));
  spec.sequence.tokenizer.path = folder.path("none.json");
  CHECK_THAT(tokens_error(spec), Contains("dataset.tokenizer.path"));
}

TEST_CASE("what is wrong with token files is said with file and token", "[tokens]") {
  const TempFolder folder;
  const auto spec = [&folder](const std::string& content) {
    return tokens_spec(folder.write("t.bin", content), TokenStorage::u16);
  };
  std::vector<std::uint32_t> ids(20, 7);
  CHECK(tokens_error(spec(stored(ids, 2))).empty());
  ids[4] = 1000;
  CHECK_THAT(tokens_error(spec(stored(ids, 2))),
             Contains("t.bin: token 4 (counted from 0) is not below dataset.vocabulary, 1000"));
  CHECK_THAT(tokens_error(spec(stored(ids, 2) + "x")), Contains("is cut short: 41 bytes"));
  CHECK_THAT(tokens_error(spec("")), Contains("of its 0 windows of 3 tokens"));
  CHECK_THAT(tokens_error(spec(stored({1, 2, 3, 4, 5}, 2))), Contains("of its 1 windows"));
  CHECK_THAT(tokens_error(tokens_spec(folder.path("none"), TokenStorage::u16)),
             Contains("there is no file"));
  CHECK_THAT(tokens_error(tokens_spec(folder.path("*.none"), TokenStorage::u16)),
             Contains("no file has such a name"));
  CHECK_THAT(tokens_error(tokens_spec(folder.path("*.*"), TokenStorage::u16)),
             Contains("more than one *"));
  CHECK_THAT(tokens_error(tokens_spec(folder.path(), TokenStorage::u16)), Contains("is a folder"));
}

TEST_CASE("a token file that became shorter is an error of the batch", "[tokens]") {
  const TempFolder folder;
  const auto spec = tokens_spec(folder.write("t.bin", stored(std::vector<std::uint32_t>(20, 7), 2)),
                                TokenStorage::u16);
  const auto data = open_tokens(spec);
  REQUIRE(data);
  folder.write("t.bin", stored({7, 7, 7, 7}, 2));
  const std::vector<std::int64_t> indices{0, 1};
  Batch batch;
  const Status status = (*data)->read({Split::train, indices}, batch);
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Contains("t.bin: has become shorter"));
}

}  // namespace trainyard::runtime
