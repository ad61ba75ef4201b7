// A ps that is there for one input, and a worker's way to it.
#pragma once

#include <sys/socket.h>

#include "tests/runtime/net/stream_client.h"

namespace trainyard::fuzz {

// Its gradients are of 64 bytes, so that inputs stay small.
inline constexpr std::int64_t gradient_elements = 16;
inline runtime::test::GangSpec small_ps() {
  runtime::test::GangSpec spec;
  spec.max_steps = 3;
  spec.elements = gradient_elements;
  return spec;
}

// Nothing more will be sent; waits until the ps has read all, and has hung up.
inline void await_end(int socket) {
  constexpr int patience_millis = 20'000;
  ::shutdown(socket, SHUT_WR);
  char bytes[4096];
  while (true) {
    pollfd waiting{.fd = socket, .events = POLLIN, .revents = 0};
    ENSURE(::poll(&waiting, 1, patience_millis) > 0);
    if (::recv(socket, bytes, sizeof bytes, MSG_DONTWAIT) <= 0) return;
  }
}

// It is served still.
inline void ensure_it_lives(const runtime::test::Gang& gang) {
  ENSURE(runtime::test::describe(gang.addresses().front()).shared_socket() != "");
}

}  // namespace trainyard::fuzz
