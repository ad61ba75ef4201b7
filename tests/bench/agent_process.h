// A trainyard-agent of its own beside a ServerProcess, from the folder of this program.
#pragma once

#include <sys/types.h>

#include <string>

#include "tests/bench/server_process.h"

namespace trainyard::bench {

class AgentProcess {
 public:
  explicit AgentProcess(const ServerProcess& server);
  ~AgentProcess();  // asks it to end, waits
  AgentProcess(const AgentProcess&) = delete;
  AgentProcess& operator=(const AgentProcess&) = delete;

  // That it and its tasks which have ended have used so far, user and system.
  [[nodiscard]] double cpu_seconds() const;

 private:
  pid_t pid_ = -1;
};

}  // namespace trainyard::bench
