// What a person who wrote broken JSON is told.
#include "schemas/wire/json_text.h"

#include <catch2/catch.hpp>

namespace trainyard {
namespace {

JsonDocument document_of(std::string_view text) {
  ParsedJson parsed = parse_json_text(text);
  REQUIRE(std::holds_alternative<JsonDocument>(parsed));
  return std::get<JsonDocument>(std::move(parsed));
}

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

TEST_CASE("a key that comes twice keeps its first value, and the parse goes on", "[wire]") {
  const JsonDocument read = document_of(R"({"a": 1, "a": {"b": [2, {"c": 3}], "a": 4}, "d": 5})");
  CHECK(read.faults == std::vector<Fault>{{"/a", "is given twice"}});
  CHECK(read.value == nlohmann::json{{"a", 1}, {"d", 5}});
  CHECK(read.left_out.empty());

  std::string deep = "{\"a\": 1, \"a\": [[]]}";  // in the innermost level that there may be
  for (int level = 1; level < json_depth_max; ++level) deep = "[" + deep + "]";
  CHECK(document_of(deep).faults.size() == 1);
}

TEST_CASE("a number that no double holds leaves a null, and the parse goes on", "[wire]") {
  const std::string many(400, '9');
  const JsonDocument read = document_of(R"(["\"1e400", -1e400, 1e-400, )" + many +
                                        R"(, 0.5e3, {"x": 12E+0999, "y": 7}])");
  CHECK(read.value == nlohmann::json::parse(R"(["\"1e400", null, 0, null, 500.0,
                                               {"x": null, "y": 7}])"));
  const std::string words = "holds a number that is out of range";
  CHECK(read.faults == std::vector<Fault>{{"/1", words}, {"/3", words}, {"/5/x", words}});
  CHECK(read.left_out == std::vector<std::string>{"/1", "/3", "/5/x"});
  CHECK(document_of("1e400").left_out == std::vector<std::string>{""});
}

TEST_CASE("a fault of the grammar after other faults is told, in its place", "[wire]") {
  CHECK(words_about("{\"a\": 1e400, \"a\": 2,}") ==
        "job.json: not JSON: line 1, column 21: unexpected '}'; expected string literal");
  for (const std::string text : {"[1e400, 01e400]", "[1e400, 1.e400]", "[1e400-5]", "[1e400",
                                 "[1e400, +1e400]", "[1e400 1e400]", "{\"a\":1,\"a\":}"}) {
    INFO(text);
    CHECK(std::holds_alternative<NotJson>(parse_json_text(text)));
  }
}

TEST_CASE("depth and grammar are told apart", "[wire]") {
  CHECK(std::holds_alternative<NotJson>(parse_json_text(std::string(100'000, '['))));
  const std::string closed = std::string(100'000, '[') + std::string(100'000, ']');
  const JsonDocument read = document_of("[" + closed + ", 1]");
  REQUIRE(read.faults.size() == 1);
  CHECK(read.faults[0].message == "is nested deeper than 32 levels");
  CHECK(read.value[1] == 1);
}

TEST_CASE("faults of a text are few however many there are, and so are their bytes", "[wire]") {
  std::string numbers = "[1e400";
  for (int i = 1; i < 50'000; ++i) numbers += ",1e400";
  const JsonDocument many = document_of(numbers + "]");
  REQUIRE(many.faults.size() == 21);
  CHECK(many.faults.back() == Fault{"", "has more faults like these"});
  CHECK(many.is_cut);

  const JsonDocument wide = document_of("{\"" + std::string(100'000, 'k') + "\":" + numbers + "]}");
  CHECK(wide.faults.size() == 2);
  CHECK(wide.is_cut);
}

}  // namespace trainyard
