// What sockets, and the threads that wait on them, have in common.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "schemas/base/result.h"

namespace trainyard::runtime {

// How long a thread waits at most before it looks at its stop token, and at the clock.
inline constexpr int look_up_millis = 100;

// Of a system call that has just failed, as errno says: `unavailable`.
inline Error call_failed(const std::string& what) {
  return unavailable(what + ": " + std::generic_category().message(errno));
}

}  // namespace trainyard::runtime
