#include "schemas/base/utf8.h"

#include <catch2/catch.hpp>

using namespace trainyard;

TEST_CASE("UTF-8 of every length is valid", "[base]") {
  for (const std::string text : {"", "plain", "\x7f", "é", "線", "🚂", "a\xF4\x8F\xBF\xBF"}) {
    INFO(text);
    CHECK(is_valid_utf8(text));
    CHECK(to_valid_utf8(text) == text);
  }
  CHECK(is_valid_utf8(std::string(1, '\0')));
}

TEST_CASE("overlong forms, surrogates, stray and missing bytes are not UTF-8", "[base]") {
  for (const std::string text :
       {"\x80", "\xC0\xAF", "\xC1\xBF", "\xC3", "\xE0\x80\xAF", "\xE7\xB7", "\xED\xA0\x80",
        "\xF0\x80\x80\xAF", "\xF0\x9F\x9A", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xFF"}) {
    CHECK_FALSE(is_valid_utf8(text));
    CHECK_FALSE(is_valid_utf8("good " + text));
    CHECK(is_valid_utf8(to_valid_utf8(text + " good")));
  }
}

TEST_CASE("each bad byte becomes one replacement character, the rest stays", "[base]") {
  CHECK(to_valid_utf8("a\xFFz") == "a\xEF\xBF\xBDz");
  CHECK(to_valid_utf8("\xC3") == "\xEF\xBF\xBD");
  CHECK(to_valid_utf8("\xE7\xB7!") == "\xEF\xBF\xBD\xEF\xBF\xBD!");
}

TEST_CASE("every text cut at any byte becomes valid", "[base]") {
  const std::string text = "aé線🚂";
  for (std::size_t length = 0; length <= text.size(); ++length) {
    CHECK(is_valid_utf8(to_valid_utf8(text.substr(0, length))));
  }
}

TEST_CASE("characters are read from UTF-8 and written to it", "[utf8]") {
  const std::string text = "a\xC3\xA9\xE7\xB7\x9A\xF0\x9F\x9A\x82";
  CHECK(count_characters(text) == 4);
  std::vector<char32_t> characters;
  std::string written;
  for (std::size_t at = 0; at < text.size();) {
    characters.push_back(next_character(text, at));
    append_utf8(characters.back(), written);
  }
  CHECK(characters == std::vector<char32_t>{'a', 0xE9, 0x7DDA, 0x1F682});
  CHECK(written == text);
}
