// A process by a descriptor: it means that process for ever, whoever gets its pid next, and tells
// of its end though it is no child.
#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "schemas/base/descriptor.h"

namespace trainyard::agent {

// Empty where there is none, or errno says why not. glibc 2.36 declares these calls without C
// linkage.
inline Descriptor open_pidfd(std::int64_t pid) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

inline void send_signal(int pidfd, int signal) {
  ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0);
}

// Waits for it.
inline bool has_ended(const Descriptor& pidfd, std::chrono::steady_clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd ended{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  const auto most = static_cast<int>(std::max(left, std::chrono::milliseconds(0)).count());
  return ::poll(&ended, 1, most) > 0;
}

}  // namespace trainyard::agent
