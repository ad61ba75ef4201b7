// What /proc tells of other processes: who belongs to a process group, and whether a pid still
// means the process it meant when it was written down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainyard::agent {

struct ProcessInfo {
  std::int64_t pid = 0;
  std::int64_t parent = 0;
  std::int64_t group = 0;
  std::int64_t start_ticks =
      0;             // since the boot: with the boot id and the pid it names a process for ever
  char state = '?';  // 'Z' and 'X' are dead and run nothing any more
};

// Not so a zombie.
bool is_running(const ProcessInfo& process);

// Nothing when there is no such process, not even a zombie.
std::optional<ProcessInfo> find_process(std::int64_t pid);

// Where it works; "" where that cannot be read, as of one that is ending or another user's.
std::string folder_of(std::int64_t pid);

// The members of a process group that still run; zombies are not counted.
std::vector<ProcessInfo> running_in_group(std::int64_t group);

// The process, its group and its ancestors with theirs: it belongs to a task if the task's process
// is among them. Empty when it runs no more. A pid of another pid namespace than this process's is
// nobody's kin, and only itself.
std::vector<std::int64_t> kin_of(std::int64_t pid);

// Of the running kernel; "" where it does not tell.
std::string boot_id();

// How many processes this host has killed for want of memory since its boot, of whomever; 0 where
// it does not tell.
std::int64_t memory_kills();

// The kernel's log from a moment on, as /dev/kmsg has it, a record a line; nothing where this
// process may not read it or its pids are not those of the log (a container has its own).
std::optional<std::string> kernel_log_since(std::int64_t micros);
std::int64_t kernel_log_time();  // now, in microseconds

// Whether the log says that the process was killed for want of memory.
bool was_killed_for_memory(const std::string& log, std::int64_t pid);

}  // namespace trainyard::agent
