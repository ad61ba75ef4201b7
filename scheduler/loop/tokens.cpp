#include "scheduler/loop/tokens.h"

#include "schemas/types/job.h"

namespace trainyard::scheduler {
namespace {

constexpr std::size_t seeds_max = 65'536;

}  // namespace

Result<std::uint64_t> Tokens::seed_of(const JobId& job) {
  if (const auto known = seeds_.find(job); known != seeds_.end()) return known->second;
  TRY_ASSIGN(const Job row, reader_.job(job));
  if (seeds_.size() >= seeds_max) seeds_.clear();
  seeds_.emplace(job, row.token_seed);
  return row.token_seed;
}

Status Tokens::check(const TaskKey& task, std::string_view token) {
  Job job;
  job.id = task.job;
  {
    const std::lock_guard lock(mutex_);
    TRY_ASSIGN(job.token_seed, seed_of(task.job));
  }
  if (token == attempt_token(job, task.attempt)) return ok();
  return invalid("token: not that of " + to_string(task));
}

void Tokens::forget(const JobId& job) {
  const std::lock_guard lock(mutex_);
  seeds_.erase(job);
}

}  // namespace trainyard::scheduler
