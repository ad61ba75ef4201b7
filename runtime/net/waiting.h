// What threads that wait on sockets have in common.
#pragma once

namespace trainyard::runtime {

// How long one waits at most before it looks at its stop token, and at the clock: for poll(2) and
// epoll_wait(2).
inline constexpr int look_up_millis = 100;

}  // namespace trainyard::runtime
