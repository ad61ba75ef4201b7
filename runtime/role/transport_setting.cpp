#include "runtime/role/transport_setting.h"

#include <cstdlib>
#include <string>

namespace trainyard::runtime {

Result<Transport> allowed_transport() {
  const char* const wanted = std::getenv(transport_variable);
  if (wanted == nullptr) return Transport::shared_memory;
  if (const auto transport = find_value(transport_names, wanted)) return *transport;
  std::string known;
  for (const std::string& name : all_transport_names()) known += (known.empty() ? "" : ", ") + name;
  return invalid(std::string(transport_variable) + ": \"" + wanted + "\" is none of " + known);
}

}  // namespace trainyard::runtime
