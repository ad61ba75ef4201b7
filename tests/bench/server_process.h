// A trainyard-server of its own, from the folder of this program, with its state on the disk that
// TMPDIR names.
#pragma once

#include <sys/types.h>

#include <string>
#include <thread>

#include "tests/support/temp_folder.h"

namespace trainyard::bench {

class ServerProcess {
 public:
  ServerProcess();
  ~ServerProcess();  // asks it to end, waits, removes its state
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  [[nodiscard]] const std::string& http_address() const { return http_address_; }
  [[nodiscard]] const std::string& agent_address() const { return agent_address_; }
  [[nodiscard]] const std::string& folder() const { return folder_.path(); }
  [[nodiscard]] double cpu_seconds() const;  // that it has used so far, user and system

 private:
  TempFolder folder_;
  std::string http_address_;
  std::string agent_address_;
  pid_t pid_ = -1;
  std::jthread log_reader_;  // ends with the server
};

}  // namespace trainyard::bench
