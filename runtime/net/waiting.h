// What threads that wait on sockets have in common.
#pragma once

#include <chrono>

namespace trainyard::runtime {

// How long one waits at most before it looks at its stop token, and at the clock: for poll(2) and
// epoll_wait(2).
inline constexpr int look_up_millis = 100;

// How long a peer may be away that was there, and that the others cannot go on without.
inline constexpr std::chrono::seconds return_limit{10};

}  // namespace trainyard::runtime
