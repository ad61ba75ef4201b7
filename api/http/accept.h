// Which of two representations a request wants, by its Accept header (RFC 9110, 12.5.1).
#pragma once

#include <string_view>

namespace trainyard::api {

// Whether `type` is named there with a weight above 0, and with a larger one than JSON's or, of the
// same, before it. Where JSON is not named itself, its weight is that of the wildcards.
bool prefers_to_json(std::string_view accept, std::string_view type);

}  // namespace trainyard::api
