// What the kernel tells of a process.
#pragma once

#include <sys/types.h>

#include <string>

namespace trainyard {

// Is there a process of this number that is not a zombie? Nobody may be there to reap one.
bool is_alive(pid_t pid);
// The number after that name ("VmRSS": kilobytes) in its status; 0 where there is none.
long status_number(pid_t pid, const std::string& name);
// How many files and sockets this process holds.
long open_descriptors();

}  // namespace trainyard
