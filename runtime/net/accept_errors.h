// Why a caller of a listening socket could not be accepted.
#pragma once

#include <cerrno>

namespace trainyard::runtime {

// It stays where it is, and is told of again and again: whoever listens should rest for a while.
inline bool is_short_of_room(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace trainyard::runtime
