// The Range header and entity tags (RFC 9110 sections 13 and 14), one range at most.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace trainyard::api {

struct ByteRange {
  enum class Kind {
    whole,  // no Range header, or one that may be ignored
    part,
    unsatisfiable,  // begins beyond the end: 416
  } kind = Kind::whole;
  std::int64_t first = 0;
  std::int64_t length = 0;
};
ByteRange parse_range(std::string_view header, std::int64_t file_bytes);

// Is `tag` (without quotes) among those of an If-None-Match header? Weak and strong ones compare
// equal; "*" is any.
bool matches_tag(std::string_view header, std::string_view tag);

}  // namespace trainyard::api
