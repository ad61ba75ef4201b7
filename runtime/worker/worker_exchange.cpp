#include "runtime/worker/worker_exchange.h"

namespace trainyard::runtime {

std::string version_of_ps(const Welcomed& welcome) {
  return "ps " + std::to_string(welcome.ps) + " has version " + std::to_string(welcome.version);
}

}  // namespace trainyard::runtime
