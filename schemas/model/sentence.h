// Words of the faults: names quoted, numbers as people read them, and the name that was meant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/model/written.h"

namespace trainyard::model {

// "11,689,512"
std::string with_commas(std::int64_t number);

// In quotes; no longer than a line, without control characters, in UTF-8.
std::string quoted(std::string_view text);

// `the data set "cifar10"`; of one whose name is not known here `the data set`.
std::string dataset_words(std::string_view name);

// The value as a message says it: 0, "abc", a list.
std::string describe(const Value& value);

// "a, b and c", as many as are good to read.
std::string listed(const std::vector<std::string_view>& names);

// `; did you mean "conv2d"?` where one of the names is near, else "".
std::string meant(std::string_view text, const std::vector<std::string_view>& names);

// The number as JSON prints it: "0.5", "3".
std::string number_text(double number);

}  // namespace trainyard::model
