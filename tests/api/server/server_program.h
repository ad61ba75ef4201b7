// trainyard-server as a test starts it, from a command line.
#pragma once

#include <poll.h>

#include <csignal>
#include <string>

#include "api/client/child.h"
#include "tests/support/program_path.h"
#include "tests/support/waiting.h"

namespace trainyard::api {

// trainyard-server with what a shell command line gives it: variables, then flags.
class ServerProgram {
 public:
  ServerProgram(const std::string& variables, const std::string& flags)
      : child_(
            client::Child::start("server", {"/bin/sh", "-c", command(variables, flags)}).value()) {}

  // The first line it says; "" when it ended without one.
  std::string first_line() {
    const Deadline deadline = in_patience();
    while (!is_past(deadline) && child_.error_output() >= 0) {
      pollfd readable{child_.error_output(), POLLIN, 0};
      poll(&readable, 1, 100);
      const auto lines = child_.read_lines();
      if (!lines.empty()) return lines.front();
    }
    return "";
  }

  int end() {
    child_.send_signal(SIGTERM);
    return await_end();
  }
  // Of one that ends by itself.
  int await_end() {
    while (child_.running()) {
      poll(nullptr, 0, 10);
      child_.read_lines();
      child_.reap();
    }
    return child_.exit_status();
  }

 private:
  static std::string command(const std::string& variables, const std::string& flags) {
    return variables + " exec " + program_path("trainyard-server") +
           " --agent-address 127.0.0.1:0 " + flags;
  }
  client::Child child_;
};

}  // namespace trainyard::api
