// Where the last lines of a log begin.
#pragma once

#include <cstdint>
#include <string>

#include "schemas/base/result.h"

namespace trainyard::api {

// The offset of the first of the last `lines` lines; 0 when there are fewer, or when `lines` is
// below 0 (all of them). As File::open_regular() where there is no log. Reads from the end, so its
// cost grows with what is shown, not with the file.
Result<std::int64_t> tail_offset(const std::string& path, std::int64_t lines);

}  // namespace trainyard::api
