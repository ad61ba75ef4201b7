// What a job asks of data sets of texts, tokens, series of numbers and lines of text in images.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainyard {

// How a text becomes a list of whole numbers, its ids. 0 is padding.
enum class TokenizerName {
  words,  // the most frequent words of the training texts; 1 is any other
  bytes,  // byte b is b + 1
  bpe,    // merges of bytes, as a tokenizer.json lists them
};

struct TokenizerSpec {
  TokenizerName name = TokenizerName::words;
  std::int64_t vocabulary = 20'000;  // words: how many ids, padding and unknown words among them
  std::string path{};                // bpe: the tokenizer.json
  bool operator==(const TokenizerSpec&) const = default;
};

inline constexpr std::int64_t bytes_vocabulary = 257;

// How many ids there are, or nothing where a file tells.
constexpr std::optional<std::int64_t> vocabulary_of(const TokenizerSpec& tokenizer) {
  switch (tokenizer.name) {
    case TokenizerName::words: return tokenizer.vocabulary;
    case TokenizerName::bytes: return bytes_vocabulary;
    case TokenizerName::bpe: break;
  }
  return std::nullopt;
}

// What the files of the format `tokens` hold: text, or ids of so many bits, little-endian.
enum class TokenStorage { text, u16, u32 };

// What becomes of an image whose text needs more time steps than the model's scores have.
enum class ImpossibleLabels { refuse, skip };

struct SequenceSpec {
  std::string text_column{};  // text in CSV: header name or 0-based position; "" = the first
  TokenizerSpec tokenizer{};  // text, tokens
  // text: tokens of an example, more are cut off; tokens: of a window; sequences: time steps of the
  // longest example, 0 = as many as it has
  std::int64_t length = 0;
  std::vector<std::int64_t> buckets{};        // text: lengths, ascending, the last one is `length`
  TokenStorage storage = TokenStorage::text;  // tokens
  std::int64_t vocabulary = 0;                // tokens of u16 and u32: ids are below it
  std::string alphabet{};                     // image_lines: the characters that texts are of
  ImpossibleLabels impossible = ImpossibleLabels::refuse;  // image_lines
  bool operator==(const SequenceSpec&) const = default;
};

}  // namespace trainyard
