// What is known of a process that ended by SIGKILL.
#pragma once

#include <cstdint>

namespace trainyard::agent {

// `for_memory`: the kernel's log names it. Where the log cannot be read, or not in the numbers of
// this host's processes, nothing says more than that this host killed something for want of memory
// meanwhile.
enum class Killing { none, by_us, by_others, perhaps_for_memory, for_memory };

// Made before the process is started.
class KillWatch {
 public:
  KillWatch();

  // Of a process that SIGKILL ended, and that we did not send.
  [[nodiscard]] Killing killing_of(std::int64_t pid) const;

 private:
  std::int64_t memory_kills_before_;
  std::int64_t began_at_;  // in microseconds, as the kernel's log counts them
};

}  // namespace trainyard::agent
