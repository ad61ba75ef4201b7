#include "runtime/role/transport_setting.h"

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace trainyard::runtime {

Result<RemoteOptions::Transport> allowed_transport() {
  using enum RemoteOptions::Transport;
  static constexpr std::array<std::pair<std::string_view, RemoteOptions::Transport>, 4> names{
      {{"shared_memory", shared_memory}, {"unix", unix_socket}, {"tcp", tcp}, {"grpc", grpc}}};
  const char* const wanted = std::getenv(transport_variable);
  if (wanted == nullptr) return shared_memory;
  for (const auto& [name, transport] : names) {
    if (name == wanted) return transport;
  }
  return invalid(std::string(transport_variable) + ": \"" + wanted +
                 "\" is none of shared_memory, unix, tcp, grpc");
}

}  // namespace trainyard::runtime
