// A ps in a process of its own, as it is in a job: gRPC's threads of both ends would share their
// polling in one process, and be slower than they are.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/types/job_spec.h"

namespace trainyard::bench {

class PsProcess {
 public:
  // One rank, sgd, sync, for ever; parameters of zeros.
  PsProcess(std::int64_t elements, Wire wire);
  ~PsProcess();  // ends it
  PsProcess(const PsProcess&) = delete;
  PsProcess& operator=(const PsProcess&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] double cpu_seconds() const;

 private:
  std::string address_;
  pid_t pid_ = -1;
  int stdin_ = -1;  // the process ends when it is closed
};

// What that process does: prints its port and serves until standard input ends. An exit code.
int run_ps_process(std::int64_t elements, std::string_view wire);

}  // namespace trainyard::bench
