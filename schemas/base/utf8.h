// UTF-8 checked by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trainyard {

// The text behind the byte order mark (U+FEFF) that some editors begin a file with; all of it where
// there is none.
std::string_view without_byte_order_mark(std::string_view text);

bool is_valid_utf8(std::string_view text);

// The code point that begins at `at`, which moves behind it; of a text that is valid.
char32_t next_character(std::string_view text, std::size_t& at);

// Code points; of a text that is valid.
std::int64_t count_characters(std::string_view text);

// Adds the code point's sequence, of a code point that has one.
void append_utf8(char32_t character, std::string& text);

// The text itself, with each byte that is not part of a valid sequence replaced by U+FFFD.
std::string to_valid_utf8(std::string_view text);

}  // namespace trainyard
