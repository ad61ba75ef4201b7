// Why nobody can listen at an address, where a library does not tell.
#pragma once

#include <string>

namespace trainyard {

// In the system's words, asked by binding once: "Address already in use"; "" where that works.
// `address` is "host:port" or "[host]:port".
std::string why_not_listen_at(const std::string& address);

}  // namespace trainyard
