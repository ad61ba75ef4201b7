// JSON pointers (RFC 6901): where in a document something stands.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace trainyard {

// "/roles" and "ps" to "/roles/ps", escaped as RFC 6901 asks.
std::string child_pointer(std::string_view parent, std::string_view key);

// "/layers" and 3 to "/layers/3".
std::string item_pointer(std::string_view parent, std::size_t position);

// Whether the place is `outer` or in it: "/roles/ps" is in "/roles", "/rolesx" is not.
bool is_within(std::string_view pointer, std::string_view outer);

}  // namespace trainyard
