// Text of ASCII, in any locale: letters without their case, and blanks.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace trainyard {

constexpr char to_lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

inline std::string to_lower(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) letter = to_lower(letter);
  return lower;
}

// But for capitals.
constexpr bool is_same_text(std::string_view left, std::string_view right) {
  return std::ranges::equal(left, right,
                            [](char one, char other) { return to_lower(one) == to_lower(other); });
}

// Without the blanks and tabs at its ends.
constexpr std::string_view trim(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

}  // namespace trainyard
