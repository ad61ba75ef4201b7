// A ps in a process of its own, as it is in a job.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/types/job_spec.h"
#include "tests/bench/self_process.h"

namespace trainyard::bench {

class PsProcess {
 public:
  // One rank, sgd, sync, for ever; parameters of zeros.
  PsProcess(std::int64_t elements, Wire wire);

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] double cpu_seconds() const { return process_.cpu_seconds(); }

 private:
  SelfProcess process_;
  std::string address_;
};

// What that process does: prints its port and serves until standard input ends. An exit code.
int run_ps_process(std::int64_t elements, std::string_view wire);

}  // namespace trainyard::bench
