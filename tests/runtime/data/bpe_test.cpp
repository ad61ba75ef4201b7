#include "runtime/data/bpe.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/temp_folder.h"

namespace trainyard::runtime {

namespace {

using Catch::Matchers::Contains;
using nlohmann::json;

constexpr auto golden_tokenizer = "tests/golden/bpe/tokenizer.json";

json golden(const std::string& path) {
  std::ifstream file(path);
  REQUIRE(file.good());
  return json::parse(file);
}

BpeTokenizer golden_bpe() {
  auto tables = read_bpe_tables(golden_tokenizer);
  REQUIRE(tables);
  return BpeTokenizer(std::move(tables).value());
}

std::string bpe_error(const std::string& content) {
  const TempFolder folder;
  const auto tables = read_bpe_tables(folder.write("tokenizer.json", content));
  if (tables) return "";
  CHECK_THAT(tables.error().message,
             Contains("dataset.tokenizer.path") && Contains("tokenizer.json"));
  return tables.error().message;
}

// The golden file with one member changed.
std::string changed(const std::string& pointer, const json& value) {
  json document = golden(golden_tokenizer);
  document[json::json_pointer(pointer)] = value;
  return document.dump();
}

}  // namespace

TEST_CASE("byte pair encoding gives the pieces and ids of GPT-2's encoder", "[bpe]") {
  const BpeTokenizer tokenizer = golden_bpe();
  const json numbers = golden("tests/golden/bpe.json");
  CHECK(tokenizer.vocabulary() == numbers["vocabulary"]);
  REQUIRE(numbers["cases"].size() > 20);
  for (const json& each : numbers["cases"]) {
    const auto text = each["text"].get<std::string>();
    INFO(text);
    std::vector<std::size_t> pieces;
    for (std::size_t at = 0; at < text.size(); at += pieces.back()) {
      pieces.push_back(piece_end(text, at) - at);
    }
    CHECK(json(pieces) == each["pieces"]);
    std::vector<std::int32_t> ids;
    tokenizer.append(text, text.size(), ids);
    CHECK(json(ids) == each["ids"]);
    for (const std::size_t most : {0, 1, 3}) {
      std::vector<std::int32_t> first;
      tokenizer.append(text, most, first);
      CHECK(first == std::vector(ids.begin(), ids.begin() + std::ssize(first)));
      CHECK(first.size() == std::min(most, ids.size()));
    }
  }
}

TEST_CASE("a long word takes no time beyond its length", "[bpe]") {
  const BpeTokenizer tokenizer = golden_bpe();
  std::vector<std::int32_t> ids;
  tokenizer.append(std::string(1'000'000, 'a'), 2'000'000, ids);  // minutes where it were squared
  CHECK(ids.size() < 1'000'000);
}

TEST_CASE("merges may be lists of two tokens", "[bpe]") {
  json document = golden(golden_tokenizer);
  for (json& merge : document["model"]["merges"]) {
    const auto text = merge.get<std::string>();
    const std::size_t blank = text.find(' ');
    merge = {text.substr(0, blank), text.substr(blank + 1)};
  }
  const TempFolder folder;
  const auto tables = read_bpe_tables(folder.write("t.json", document.dump()));
  const auto same = read_bpe_tables(golden_tokenizer);
  REQUIRE(tables);
  REQUIRE(same);
  REQUIRE(tables->merges.size() == same->merges.size());
  for (const auto& [pair, merge] : same->merges) {
    CHECK(tables->merges.at(pair).rank == merge.rank);
    CHECK(tables->merges.at(pair).id == merge.id);
  }
}

TEST_CASE("a tokenizer that would give other tokens is refused", "[bpe]") {
  CHECK(bpe_error(changed("/version", "2.0")).empty());
  CHECK_THAT(bpe_error("{\"secret"), Contains("is no JSON") && !Contains("secret"));
  CHECK_THAT(bpe_error("[]"), Contains("model must be an object"));
  CHECK_THAT(bpe_error(changed("/model/type", "WordPiece")), Contains("model.type must be BPE"));
  CHECK_THAT(bpe_error(changed("/model/dropout", 0.1)), Contains("model.dropout"));
  CHECK_THAT(bpe_error(changed("/model/byte_fallback", true)), Contains("model.byte_fallback"));
  CHECK_THAT(bpe_error(changed("/normalizer", {{"type", "NFC"}})), Contains("normalizer"));
  CHECK_THAT(bpe_error(changed("/pre_tokenizer", nullptr)), Contains("pre_tokenizer.type"));
  CHECK_THAT(bpe_error(changed("/pre_tokenizer/add_prefix_space", true)),
             Contains("add_prefix_space"));
  CHECK_THAT(bpe_error(changed("/pre_tokenizer/use_regex", false)), Contains("use_regex"));
  CHECK_THAT(bpe_error(changed("/model/vocab", json::array())), Contains("model.vocab must be"));
  CHECK_THAT(bpe_error(changed("/model/vocab/zzz", -1)), Contains("not 0 to 16777215"));
  CHECK_THAT(bpe_error(changed("/model/vocab/zzz", 16777216)), Contains("not 0 to 16777215"));
  CHECK_THAT(bpe_error(changed("/model/vocab/zzz", 1.5)), Contains("not 0 to 16777215"));
  CHECK_THAT(bpe_error(changed("/model/vocab/zzz", 65)), Contains("id 65 is in model.vocab twice"));
  CHECK_THAT(bpe_error(changed("/added_tokens/0/id", "last")), Contains("added_tokens"));
  CHECK_THAT(bpe_error(changed("/added_tokens", 1)), Contains("added_tokens must be a list"));
  CHECK_THAT(bpe_error(changed("/model/merges", nullptr)), Contains("model.merges must be a list"));
  CHECK_THAT(bpe_error(changed("/model/merges/3", "one")), Contains("model.merges[3] is not two"));
  CHECK_THAT(bpe_error(changed("/model/merges/3", "q q")),
             Contains("model.merges[3] is of a token not in model.vocab"));
  json document = golden(golden_tokenizer);
  document["model"]["vocab"].erase("!");
  CHECK_THAT(bpe_error(document.dump()), Contains("no token for the byte 33"));
}

}  // namespace trainyard::runtime
