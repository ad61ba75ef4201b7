// A ps in a process of its own, as it is in a job: gRPC's threads of both ends would share their
// polling in one process, and be slower than they are.
#pragma once

#include <cstdint>
#include <string>

#include "tests/bench/self_process.h"

namespace trainyard::bench {

class PsProcess {
 public:
  // One rank, sgd, sync, for ever; parameters of zeros.
  explicit PsProcess(std::int64_t elements)
      : process_({"--ps", std::to_string(elements)}),
        address_("127.0.0.1:" + process_.read_line()) {}

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] double cpu_seconds() const { return process_.cpu_seconds(); }

 private:
  SelfProcess process_;
  std::string address_;
};

// What that process does: prints its port and serves until standard input ends. An exit code.
int run_ps_process(std::int64_t elements);

}  // namespace trainyard::bench
