// Words of a text, and their numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/data/tokenizer.h"

namespace trainyard::runtime {

// Reads a text's words. A word is a run of letters, numbers and marks (Unicode's L, N and M), in
// small letters; an apostrophe (' or U+2019, which becomes ') between two of a word's characters is
// part of it. All else is between words.
class WordReader {
 public:
  explicit WordReader(std::string_view text) : text_(text) {}  // UTF-8, not copied

  // The next word into `word`; false at the end.
  bool next(std::string& word);

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

// Ids: 0 padding, 1 a word that is not among the others, from 2 the words that `texts` have most
// often; of words that come as often the one whose bytes come first.
class WordTokenizer final : public Tokenizer {
 public:
  WordTokenizer(std::int64_t vocabulary, const std::vector<std::string_view>& texts);

  [[nodiscard]] std::int64_t vocabulary() const override { return vocabulary_; }
  [[nodiscard]] std::string words() const override;
  void append(std::string_view text, std::size_t most,
              std::vector<std::int32_t>& ids) const override;

 private:
  std::int64_t vocabulary_;
  std::unordered_map<std::string, std::int32_t> ids_;
};

}  // namespace trainyard::runtime
