#include "runtime/data/words.h"

#include <catch2/catch.hpp>

#include "runtime/data/characters.h"

namespace trainyard::runtime {

namespace {

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  WordReader reader(text);
  std::string word;
  while (reader.next(word)) words.push_back(word);
  return words;
}

std::vector<std::int32_t> ids_of(const Tokenizer& tokenizer, std::string_view text,
                                 std::size_t most = 100) {
  std::vector<std::int32_t> ids;
  tokenizer.append(text, most, ids);
  return ids;
}

}  // namespace

TEST_CASE("a text's words are in small letters, split at all that is no letter or number",
          "[words]") {
  using Words = std::vector<std::string>;
  CHECK(words_of("The QUICK-brown fox, 2 times!") ==
        Words{"the", "quick", "brown", "fox", "2", "times"});
  CHECK(words_of("don't 'quoted' rock'n'roll '' it\xE2\x80\x99s dogs'") ==
        Words{"don't", "quoted", "rock'n'roll", "it's", "dogs"});
  CHECK(words_of("ÄRGER Straße ΑΒΓ Москва ①") == Words{"ärger", "straße", "αβγ", "москва", "①"});
  CHECK(words_of("電車,列車。 नमस्ते") == Words{"電車", "列車", "नमस्ते"});  // marks stay within
  CHECK(words_of("") == Words{});
  CHECK(words_of(" \n\t-- 🚂 ... ") == Words{});
  CHECK(words_of("x_y<br/>z") == Words{"x", "y", "br", "z"});
}

TEST_CASE("characters are of Unicode's kinds", "[words]") {
  CHECK(is_letter('a'));
  CHECK(is_letter(0xE9));
  CHECK(is_letter(0x2CEA1));
  CHECK_FALSE(is_letter('1'));
  CHECK_FALSE(is_letter(0xD7));
  CHECK_FALSE(is_letter(0x1F682));
  CHECK_FALSE(is_letter(0x10FFFF));
  CHECK(is_number(0x00BD));
  CHECK(is_number(0x0664));
  CHECK_FALSE(is_number('-'));
  CHECK(is_mark(0x0301));
  CHECK_FALSE(is_mark('a'));
  CHECK(is_space(0x3000));
  CHECK_FALSE(is_space(0x200B));
  CHECK(small_form('Z') == 'z');
  CHECK(small_form('[') == '[');
  CHECK(small_form(0x0100) == 0x0101);  // every second one of the range
  CHECK(small_form(0x0101) == 0x0101);
  CHECK(small_form(0x1E9E) == 0x00DF);
  CHECK(small_form(0x10FFFF) == 0x10FFFF);
}

TEST_CASE("the vocabulary has the most frequent words, of equals the first by bytes", "[words]") {
  const std::vector<std::string_view> texts{"b b a c", "C a b", "zebra d"};
  const WordTokenizer all(20, texts);
  CHECK(all.vocabulary() == 20);
  CHECK(ids_of(all, "b a c d zebra ape") == std::vector<std::int32_t>{2, 3, 4, 5, 6, 1});
  const WordTokenizer three(5, texts);
  CHECK(ids_of(three, "b a c d zebra ape") == std::vector<std::int32_t>{2, 3, 4, 1, 1, 1});
  CHECK(ids_of(three, "b a c d", 2) == std::vector<std::int32_t>{2, 3});
  CHECK(ids_of(three, "...").empty());
}

TEST_CASE("a vocabulary is written with a line for each id", "[words]") {
  const std::vector<std::string_view> texts{"b b a c", "C a b", "zebra d"};
  CHECK(WordTokenizer(20, texts).words() == "<padding>\n<unknown>\nb\na\nc\nd\nzebra\n");
  CHECK(WordTokenizer(4, texts).words() == "<padding>\n<unknown>\nb\na\n");
  CHECK(WordTokenizer(4, {}).words() == "<padding>\n<unknown>\n");
}

}  // namespace trainyard::runtime
