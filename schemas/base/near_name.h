// The name that was meant where one is written wrongly.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard {

// That of the names which is nearest to the text: a letter in three may be put in, taken out or
// changed, or have changed places with the next one; capitals do not count. Of equally near ones
// that which begins as the text does for longer. Nothing where none is so near, two are alike, or
// the text is no name by its length.
std::optional<std::string_view> near_name(std::string_view text,
                                          const std::vector<std::string_view>& names);

// `; did you mean "adam"?` where one of the names, which have no quotes, is near, else "".
std::string did_you_mean(std::string_view text, const std::vector<std::string_view>& names);

}  // namespace trainyard
