// What kind a character of a text is, by Unicode's general categories, and its small form.
#pragma once

namespace trainyard::runtime {

bool is_letter(char32_t character);  // L
bool is_number(char32_t character);  // N
bool is_mark(char32_t character);    // M: what is written over or under a letter
bool is_space(char32_t character);   // White_Space

// The character itself where it has none, or one of several characters.
char32_t small_form(char32_t character);

}  // namespace trainyard::runtime
