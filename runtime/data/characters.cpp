#include "runtime/data/characters.h"

#include <algorithm>
#include <iterator>

#include "runtime/data/unicode_tables.h"

namespace trainyard::runtime {
namespace {

// The range that the character is in, or nullptr; ranges ascend.
template <class Range, std::size_t N>
const Range* find_range(const Range (&ranges)[N], char32_t character) {
  const auto* const found = std::ranges::lower_bound(ranges, character, {}, &Range::last);
  return found != std::end(ranges) && found->first <= character ? found : nullptr;
}

constexpr bool is_between(char32_t character, char32_t first, char32_t last) {
  return character >= first && character <= last;
}

}  // namespace

bool is_letter(char32_t character) {
  if (character < 0x80) return is_between(character | 0x20U, 'a', 'z');
  return find_range(letter_ranges, character) != nullptr;
}

bool is_number(char32_t character) {
  if (character < 0x80) return is_between(character, '0', '9');
  return find_range(number_ranges, character) != nullptr;
}

bool is_mark(char32_t character) {
  return character >= 0x80 && find_range(mark_ranges, character) != nullptr;
}

bool is_space(char32_t character) {
  return is_between(character, 0x09, 0x0D) || character == 0x20 || character == 0x85 ||
         character == 0xA0 || character == 0x1680 || is_between(character, 0x2000, 0x200A) ||
         character == 0x2028 || character == 0x2029 || character == 0x202F || character == 0x205F ||
         character == 0x3000;
}

char32_t small_form(char32_t character) {
  if (character < 0x80) return is_between(character, 'A', 'Z') ? character + 0x20U : character;
  const SmallForms* const found = find_range(small_forms, character);
  if (found == nullptr || (character - found->first) % found->step != 0) return character;
  return static_cast<char32_t>(static_cast<std::int32_t>(character) + found->distance);
}

}  // namespace trainyard::runtime
