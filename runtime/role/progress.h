// What happened since the last report: sums over all that was applied, and the time it took.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "runtime/net/params_channel.h"

namespace trainyard::runtime {

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Progress(std::int64_t version) : version_(version) {}

  void add(const Pulled& pulled) {
    sums_ += pulled.sums;
    staleness_sum_ += pulled.staleness;
    ++pushes_;
  }

  enum class Kind { classification, regression };
  // The metrics of the interval that ends at `version`, and starts the next one.
  std::map<std::string, double> take(std::int64_t version, Kind kind);

 private:
  BatchSums sums_;
  std::int64_t staleness_sum_ = 0;
  std::int64_t pushes_ = 0;  // of this worker
  std::int64_t version_;
  Clock::time_point since_ = Clock::now();
};

}  // namespace trainyard::runtime
