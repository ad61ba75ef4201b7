// UTF-8 checked by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <string>
#include <string_view>

namespace trainyard {

// The text behind the byte order mark (U+FEFF) that some editors begin a file with; all of it where
// there is none.
std::string_view without_byte_order_mark(std::string_view text);

bool is_valid_utf8(std::string_view text);

// The text itself, with each byte that is not part of a valid sequence replaced by U+FFFD.
std::string to_valid_utf8(std::string_view text);

}  // namespace trainyard
