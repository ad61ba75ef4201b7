// Parsing of addresses.
#include "api/http/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace trainyard::api {

bool is_loopback_name(std::string_view host) {
  if (host.starts_with('[')) return host == "[::1]" || host.starts_with("[::1]:");
  std::string name(host.substr(0, host.find(':')));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name.ends_with('.')) name.pop_back();
  if (name == "localhost" || name.ends_with(".localhost")) return true;
  in_addr address{};
  return ::inet_pton(AF_INET, name.c_str(), &address) == 1 && name.starts_with("127.");
}

Result<HostAndPort> parse_address(const std::string& text, Exposure exposure) {
  const std::size_t colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  in_addr address{};
  if (colon == std::string::npos || ::inet_pton(AF_INET, host.c_str(), &address) != 1) {
    return invalid("the address \"" + text + "\" is not IPv4:PORT or localhost:PORT");
  }
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
  if (error != std::errc() || stop != end) {
    return invalid("the port of \"" + text + "\" is not a number from 0 to 65535");
  }
  if (exposure == Exposure::loopback_only && !host.starts_with("127.")) {
    return invalid(text +
                   " can be reached by other machines, and there is no authentication yet; listen "
                   "on 127.0.0.1, or say --insecure");
  }
  return HostAndPort{.host = host, .port = port};
}

}  // namespace trainyard::api
