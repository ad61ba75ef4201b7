#include "runtime/data/words.h"

#include <algorithm>
#include <utility>

#include "runtime/data/characters.h"
#include "schemas/base/utf8.h"

namespace trainyard::runtime {
namespace {

constexpr std::int32_t unknown_word = 1;
constexpr std::int32_t first_word = 2;

bool is_of_word(char32_t character) {
  return is_letter(character) || is_number(character) || is_mark(character);
}

bool is_apostrophe(char32_t character) { return character == '\'' || character == 0x2019; }

// The lines of the ids that are no words. No word has a character of theirs that is no letter.
constexpr std::string_view lines_of_no_words = "<padding>\n<unknown>\n";

using Counted = std::pair<std::int64_t, std::string>;

// By count, then by bytes.
bool comes_first(const Counted& a, const Counted& b) {
  return a.first != b.first ? a.first > b.first : a.second < b.second;
}

}  // namespace

bool WordReader::next(std::string& word) {
  word.clear();
  while (at_ < text_.size()) {
    const char32_t character = next_character(text_, at_);
    if (is_of_word(character)) {
      append_utf8(small_form(character), word);
      continue;
    }
    if (word.empty()) continue;
    std::size_t behind = at_;
    if (!is_apostrophe(character) || at_ == text_.size() ||
        !is_of_word(next_character(text_, behind))) {
      return true;
    }
    word += '\'';
  }
  return !word.empty();
}

WordTokenizer::WordTokenizer(std::int64_t vocabulary, const std::vector<std::string_view>& texts)
    : vocabulary_(vocabulary) {
  std::unordered_map<std::string, std::int64_t> counts;
  std::string word;
  for (const std::string_view text : texts) {
    WordReader words(text);
    while (words.next(word)) ++counts[word];
  }
  std::vector<Counted> counted;
  counted.reserve(counts.size());
  while (!counts.empty()) {
    auto node = counts.extract(counts.begin());
    counted.emplace_back(node.mapped(), std::move(node.key()));
  }
  const std::int64_t kept = std::min(vocabulary - first_word, std::ssize(counted));
  std::ranges::partial_sort(counted, counted.begin() + kept, comes_first);
  for (std::int32_t i = 0; i < kept; ++i) {
    ids_.emplace(std::move(counted[static_cast<std::size_t>(i)].second), first_word + i);
  }
}

std::string WordTokenizer::words() const {
  std::vector<const std::string*> by_id(ids_.size());
  for (const auto& [word, id] : ids_) by_id[static_cast<std::size_t>(id - first_word)] = &word;
  std::string text(lines_of_no_words);
  for (const std::string* const word : by_id) text += *word + "\n";
  return text;
}

void WordTokenizer::append(std::string_view text, std::size_t most,
                           std::vector<std::int32_t>& ids) const {
  WordReader words(text);
  std::string word;
  for (std::size_t count = 0; count < most && words.next(word); ++count) {
    const auto found = ids_.find(word);
    ids.push_back(found == ids_.end() ? unknown_word : found->second);
  }
}

}  // namespace trainyard::runtime
