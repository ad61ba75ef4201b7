// Text files of a data set, read whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/base/result.h"

namespace trainyard::runtime {

// More is not read: it would all be in memory at once.
inline constexpr std::int64_t text_file_bytes_max = std::int64_t{2} << 30;

// The file's bytes. `field` is the spec's: "dataset.path". `invalid` where there are more than
// `bytes_max`, or they cannot be read.
Result<std::string> read_text_file(const std::string& field, const std::string& path,
                                   std::int64_t bytes_max = text_file_bytes_max);

// The line (from 1) that the first byte is on which is not UTF-8; 0 where all are.
std::int64_t line_not_utf8(std::string_view text);

}  // namespace trainyard::runtime
