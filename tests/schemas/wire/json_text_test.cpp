// What a person who wrote broken JSON is told.
#include "schemas/wire/json_text.h"

#include <catch2/catch.hpp>

namespace trainyard {
namespace {

std::string words_about(std::string_view text) {
  const Result<nlohmann::json> parsed = parse_json(text, "job.json");
  REQUIRE_FALSE(parsed);
  return parsed.error().message;
}

}  // namespace

TEST_CASE("broken JSON is refused by line, column and what was expected", "[wire][mend-B10]") {
  CHECK(words_about("{\n  \"mode\": \"sync\"\n  \"model\": \"mlp\"\n}") ==
        "job.json: not JSON: line 3, column 9: unexpected string literal; expected '}'");
  CHECK(words_about("{\"a\": 1,}") ==
        "job.json: not JSON: line 1, column 9: unexpected '}'; expected string literal");
  CHECK(words_about("{\"caf\xC3\xA9\": }") ==
        "job.json: not JSON: line 1, column 10: unexpected '}'; expected '[', '{', or a literal");
}

TEST_CASE("the words about broken JSON quote nothing of it", "[wire][mend-B10]") {
  CHECK(words_about("{\n'secret; expected x'") ==
        "job.json: not JSON: line 2, column 1: invalid literal; expected string literal");
  CHECK(words_about("\"secret\n") ==
        "job.json: not JSON: line 2, column 1: invalid string: control character U+000A (LF) must "
        "be escaped to \\u000A or \\n");
}

}  // namespace trainyard
