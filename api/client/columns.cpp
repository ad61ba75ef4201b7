#include "api/client/columns.h"

#include <clocale>
#include <cwchar>
#include <cwctype>
#include <vector>

namespace trainyard::client {
namespace {

constexpr std::string_view ellipsis = "…";

// While it lives, this thread reads characters as UTF-8, whatever the user's own locale is. C.UTF-8
// is part of glibc itself.
class Utf8Scope {
 public:
  Utf8Scope() : before_(uselocale(locale())) {}
  ~Utf8Scope() { uselocale(before_); }
  Utf8Scope(const Utf8Scope&) = delete;
  Utf8Scope& operator=(const Utf8Scope&) = delete;

 private:
  static locale_t locale() {
    static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    return utf8 != nullptr ? utf8 : LC_GLOBAL_LOCALE;
  }
  locale_t before_;
};

struct Character {
  std::string_view bytes;
  wchar_t code = 0;  // 0: these bytes are no character
  std::size_t columns = 1;
};

std::vector<Character> characters_of(std::string_view text) {
  const Utf8Scope scope;
  std::vector<Character> characters;
  std::mbstate_t state{};
  while (!text.empty()) {
    Character next;
    const std::size_t taken = std::mbrtowc(&next.code, text.data(), text.size(), &state);
    const bool is_valid = taken != 0 && taken <= text.size();
    if (!is_valid) {
      next.code = 0;
      state = {};
    }
    next.bytes = text.substr(0, is_valid ? taken : 1);
    const int columns = is_valid ? wcwidth(next.code) : 1;
    next.columns = columns < 0 ? 1 : static_cast<std::size_t>(columns);
    characters.push_back(next);
    text.remove_prefix(next.bytes.size());
  }
  return characters;
}

std::size_t width_of(const std::vector<Character>& characters) {
  std::size_t columns = 0;
  for (const Character& each : characters) columns += each.columns;
  return columns;
}

// `head` and `tail` columns of it, and the ellipsis between.
std::string without_middle(const std::vector<Character>& characters, std::size_t head,
                           std::size_t tail) {
  std::string text;
  std::size_t begin = 0;
  for (; begin < characters.size() && characters[begin].columns <= head; ++begin) {
    head -= characters[begin].columns;
    text += characters[begin].bytes;
  }
  text += ellipsis;
  std::size_t end = characters.size();
  while (end > begin && characters[end - 1].columns <= tail) {
    --end;
    tail -= characters[end].columns;
  }
  // A mark without its letter would sit on the ellipsis.
  while (end < characters.size() && characters[end].columns == 0) ++end;
  for (; end < characters.size(); ++end) text += characters[end].bytes;
  return text;
}

}  // namespace

std::size_t width_of(std::string_view text) { return width_of(characters_of(text)); }

std::string shortened(std::string_view text, std::size_t columns) {
  const std::vector<Character> characters = characters_of(text);
  if (width_of(characters) <= columns) return std::string(text);
  if (columns == 0) return "";
  const std::size_t tail = (columns - 1) / 2;
  return without_middle(characters, columns - 1 - tail, tail);
}

std::string cut_short(std::string_view text, std::size_t columns) {
  const std::vector<Character> characters = characters_of(text);
  if (width_of(characters) <= columns) return std::string(text);
  return columns == 0 ? "" : without_middle(characters, columns - 1, 0);
}

std::string file_stem_of(std::string_view text) {
  const std::vector<Character> characters = characters_of(text);
  const Utf8Scope scope;
  std::string stem;
  for (const Character& each : characters) {
    const auto code = static_cast<std::wint_t>(each.code);
    const bool is_mark = each.code >= 0x300 && each.code <= 0x36F;  // accents by themselves
    const bool stays = iswalnum(code) != 0 || is_mark || each.bytes == "." || each.bytes == "_";
    stem += stays ? each.bytes : "-";
  }
  if (stem.starts_with('-') || stem.starts_with('.')) stem.insert(0, "model");
  return stem;
}

}  // namespace trainyard::client
