// Where the last lines of a log begin.
#pragma once

#include <cstdint>
#include <string>

namespace trainyard::api {

// The offset of the first of the last `lines` lines; 0 when there are fewer, when `lines` is below
// 0 (all of them), or there is no such file. Reads from the end, so its cost grows with what is
// shown, not with the file.
std::int64_t tail_offset(const std::string& path, std::int64_t lines);

}  // namespace trainyard::api
