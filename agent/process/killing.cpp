#include "agent/process/killing.h"

#include <optional>
#include <string>

#include "agent/process/process_table.h"

namespace trainyard::agent {

KillWatch::KillWatch() : memory_kills_before_(memory_kills()), began_at_(kernel_log_time()) {}

Killing KillWatch::killing_of(std::int64_t pid) const {
  const std::optional<std::string> log = kernel_log_since(began_at_);
  if (log && was_killed_for_memory(*log, pid)) return Killing::for_memory;
  // A log that can be read and does not name it says that it was not that.
  const bool perhaps = !log && memory_kills() > memory_kills_before_;
  return perhaps ? Killing::perhaps_for_memory : Killing::by_others;
}

}  // namespace trainyard::agent
