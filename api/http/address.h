// Where a server listens: "127.0.0.1:8080".
#pragma once

#include <cstdint>
#include <string>

#include "schemas/base/result.h"

namespace trainyard::api {

enum class Exposure { loopback_only, any_interface };

struct HostAndPort {
  std::string host;  // IPv4
  std::uint16_t port = 0;
};

// `invalid` for what is not IPv4:PORT or localhost:PORT, and for an address that other machines
// could reach unless that is wanted.
Result<HostAndPort> parse_address(const std::string& text, Exposure exposure);

}  // namespace trainyard::api
