// A job of real processes of trainyard-runtime, beside this program, without a server.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "schemas/types/run_event.h"
#include "schemas/types/task_context.h"

namespace trainyard::bench {

// Of the chief's own reports, between the first and the last, so that starting and ending are not
// in them.
struct TrainingRates {
  double steps_per_second = 0;  // global steps
  // max(computing, exchanging) as part of a step of the chief's; 1: the shorter one is hidden. What
  // it waits for others is exchanging.
  double longest_part = 0;
  std::int64_t worker_bytes_max = 0;  // the most memory that any worker ever had resident
  std::int64_t ps_bytes_max = 0;      // and any ps
};

// Where a task runs.
struct Seat {
  std::string host = "127.0.0.1";
  std::vector<std::string> before_command = {};  // as TwoHosts::at() gives it
};
struct Seats {
  std::vector<Seat> ps = {};  // what is not named has a plain one
  std::vector<Seat> workers = {};
};

class TrainingRun {
 public:
  // In a folder of its own.
  TrainingRun(JobSpec spec, std::filesystem::path folder, Seats seats = {});
  ~TrainingRun();
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  // Once; every task must end well.
  TrainingRates rates();

 private:
  [[nodiscard]] pid_t start(Role role, std::int64_t index) const;
  [[nodiscard]] std::vector<RunEvent> reports() const;

  JobSpec spec_;
  std::filesystem::path folder_;
  Seats seats_;
  ClusterSpec cluster_;
};

}  // namespace trainyard::bench
