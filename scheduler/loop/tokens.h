// Does a log line or a file come from the attempt that it names? Asked on gRPC's threads.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "scheduler/store/reader.h"
#include "schemas/base/result.h"
#include "schemas/types/task.h"

namespace trainyard::scheduler {

class Tokens {
 public:
  explicit Tokens(Reader reader) : reader_(std::move(reader)) {}

  // ok for the token of the very attempt, ended or not; `invalid` for another one, not_found for no
  // such job.
  Status check(const TaskKey& task, std::string_view token);
  // The job was removed.
  void forget(const JobId& job);

 private:
  Result<std::uint64_t> seed_of(const JobId& job);  // under mutex_

  std::mutex mutex_;
  Reader reader_;                                   // guarded by mutex_
  std::unordered_map<JobId, std::uint64_t> seeds_;  // guarded by mutex_; bounded
};

}  // namespace trainyard::scheduler
