// Letters without their case, of ASCII alone and in any locale.
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

}  // namespace trainyard
