#include "schemas/base/utf8.h"

#include <algorithm>
#include <cstddef>

namespace trainyard {
namespace {

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// Length in bytes of the valid sequence at `at`; 0 where there is none. The second byte's range is
// what rules out overlong forms, surrogates and what lies beyond U+10FFFF (RFC 3629, section 4).
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const std::size_t left = text.size() - at;
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  if (left < 2 || !is_continuation(text[at + 1])) return 0;
  if (first < 0xE0) return 2;
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  if (left < 3 || !is_continuation(text[at + 2])) return 0;
  if (first < 0xF0) return 3;
  if (left < 4 || !is_continuation(text[at + 3])) return 0;
  return 4;
}

}  // namespace

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  return text;
}

bool is_valid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

char32_t next_character(std::string_view text, std::size_t& at) {
  const auto byte = [&] { return static_cast<unsigned char>(text[at++]); };
  const auto continuation = [&] { return static_cast<char32_t>(byte() & 0x3FU); };
  const unsigned first = byte();
  if (first < 0x80) return first;
  char32_t character = first & (first < 0xE0 ? 0x1FU : first < 0xF0 ? 0x0FU : 0x07U);
  for (unsigned rest = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3; rest > 0; --rest) {
    character = (character << 6U) | continuation();
  }
  return character;
}

std::int64_t count_characters(std::string_view text) {
  return std::ranges::count_if(text, [](char byte) { return !is_continuation(byte); });
}

void append_utf8(char32_t character, std::string& text) {
  const auto append = [&text](char32_t byte) { text += static_cast<char>(byte); };
  const auto append_rest = [&](unsigned shift) { append(0x80U | ((character >> shift) & 0x3FU)); };
  if (character < 0x80) return append(character);
  if (character < 0x800) {
    append(0xC0U | (character >> 6U));
    return append_rest(0);
  }
  if (character < 0x10000) {
    append(0xE0U | (character >> 12U));
  } else {
    append(0xF0U | (character >> 18U));
    append_rest(12);
  }
  append_rest(6);
  append_rest(0);
}

std::string to_valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text, at);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      at += 1;
    } else {
      out.append(text, at, length);
      at += length;
    }
  }
  return out;
}

}  // namespace trainyard
