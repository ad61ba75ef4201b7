// What this host is and has: cpus, memory, and the address that peers reach it at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/result.h"

namespace trainyard::agent {

// Those this process may run on.
std::int64_t probe_cpus();

// Mebibytes: all of the host's, or the limit of the cgroup this process is in.
std::int64_t probe_memory_mb();

// "127.0.0.1" when `server` (HOST:PORT) is this host's loopback, else the local address of the
// route to it.
Result<std::string> probe_address(const std::string& server);

std::string probe_host_name();

// The cgroup's memory limit files, innermost first, for the text of /proc/self/cgroup: both
// generations.
std::vector<std::string> memory_limit_files(std::string_view cgroups);

}  // namespace trainyard::agent
