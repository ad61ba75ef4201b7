// What the fuzz targets share. Each target is a file of its own: bytes go where a stranger's bytes
// go, and what comes out is held against a promise, so that more than a crash is noticed.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "schemas/base/check.h"

namespace trainyard::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// The text up to the next newline, which is taken off `rest` with it.
inline std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

// Until there is something to read, or the end. libFuzzer's alarm interrupts a wait.
inline void await_input(int socket) {
  constexpr int patience_millis = 20'000;
  pollfd waiting{.fd = socket, .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = ::poll(&waiting, 1, patience_millis);
  } while (ready < 0 && errno == EINTR);
  ENSURE(ready > 0);
}

// Nothing more will be sent; waits until the ps has read all, and has hung up.
inline void await_end(int socket) {
  ::shutdown(socket, SHUT_WR);
  char bytes[4096];
  while (true) {
    await_input(socket);
    if (::recv(socket, bytes, sizeof bytes, MSG_DONTWAIT) <= 0) return;
  }
}

}  // namespace trainyard::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
