// Text in pieces, for the rules.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace trainyard::tidy {

// The words between blanks.
inline std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t");
    if (begin == text.npos) return words;
    const std::size_t end = std::min(text.find_first_of(" \t", begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

inline bool lists(std::string_view words, std::string_view word) {
  const std::vector<std::string_view> listed = words_of(words);
  return std::ranges::find(listed, word) != listed.end();
}

inline bool is_identifier_letter(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '_';
}

// Is the function called here? "rand" is in "std::rand ()", not in "rand_r(" or "strand(".
inline bool calls(std::string_view line, std::string_view function) {
  for (std::size_t at = line.find(function); at != line.npos; at = line.find(function, at + 1)) {
    const std::size_t after = line.find_first_not_of(' ', at + function.size());
    if (after == line.npos || line[after] != '(') continue;
    if (at == 0 || !is_identifier_letter(line[at - 1])) return true;
  }
  return false;
}

// The line up to a comment.
inline std::string_view code_of(std::string_view line) { return line.substr(0, line.find("//")); }

inline bool is_at_or_below(std::string_view path, std::string_view folder) {
  return path == folder ||
         (path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/');
}

}  // namespace trainyard::tidy
