// The encoding of URLs (RFC 3986): percent-decoding of paths and queries.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/base/result.h"

namespace trainyard::api {

// The text with %XX decoded. `invalid` for a broken escape, a NUL, or bytes that are no UTF-8.
Result<std::string> decode_path_segment(std::string_view text);

// "a=1&b=x%20y&a=2" in order; '+' is a space. The text after '?' only. Errors as above.
Result<std::vector<std::pair<std::string, std::string>>> decode_query(std::string_view text);

}  // namespace trainyard::api
