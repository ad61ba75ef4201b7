// How many columns of a terminal a text takes, and texts cut to as many as there are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainyard::client {

// As glibc knows the characters: wide ones take two columns, marks that sit on a letter none.
std::size_t width_of(std::string_view text);

// The text in at most so many columns: what is too long loses its middle to an ellipsis, as names
// of a series differ at their ends.
std::string shortened(std::string_view text, std::size_t columns);
// The same, but its end is lost: for sentences.
std::string cut_short(std::string_view text, std::size_t columns);

// The text as the stem of a file's name: letters and digits of any alphabet stay, and dots and
// underlines; all else, which could be a path or an option, becomes '-'.
std::string file_stem_of(std::string_view text);

}  // namespace trainyard::client
