// What a system call that failed is to its callers.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

#include "schemas/base/result.h"

namespace trainyard::runtime {

// As errno says it: `unavailable`.
inline Error call_failed(const std::string& what) {
  return unavailable(what + ": " + std::generic_category().message(errno));
}

}  // namespace trainyard::runtime
