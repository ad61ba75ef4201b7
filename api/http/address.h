// Where a server listens: "127.0.0.1:8080".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/base/result.h"

namespace trainyard::api {

enum class Exposure { loopback_only, any_interface };

struct HostAndPort {
  std::string host;  // IPv4
  std::uint16_t port = 0;
};

// Whether the Host header names this machine by a name that no name server can give to another:
// 127.x.y.z, [::1], localhost or a name below it, with or without a port.
bool is_loopback_name(std::string_view host);

// `invalid` for what is not IPv4:PORT or localhost:PORT, and for an address that other machines
// could reach unless that is wanted.
Result<HostAndPort> parse_address(const std::string& text, Exposure exposure);

}  // namespace trainyard::api
