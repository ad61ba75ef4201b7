// The tables jobs, job_labels and idempotency_keys.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/core/idempotency_key.h"
#include "scheduler/store/db.h"
#include "schemas/types/job.h"

namespace trainyard::scheduler {

// Specs by their hash: parsing one costs more than reading the rest of its job, and specs never
// change.
class SpecCache {
 public:
  Result<JobSpec> parse(const std::string& spec_hash, std::string_view spec_json);

 private:
  std::map<std::string, JobSpec, std::less<>> specs_;
  std::size_t json_bytes_ = 0;  // of the specs' texts: the cache is bounded by them, too
};

// Of a job that is there already everything is updated but what never changes: sequence, seed,
// spec.
Status save_job(Db& db, const Job& job);
Status remove_job(Db& db, const JobId& id);  // and all that belongs to it
Status save_key(Db& db, const IdempotencyKey& key);
Result<std::optional<IdempotencyKey>> find_key(Db& db, const std::string& key);

// "SELECT ... FROM jobs " of what read_job() reads; a WHERE may follow.
const std::string& jobs_sql();
Result<Job> read_job(Query& query, SpecCache& specs);
Result<Job> find_job(Db& db, const JobId& id, SpecCache& specs);          // not_found
Result<std::vector<Job>> read_unfinished_jobs(Db& db, SpecCache& specs);  // by sequence
Result<std::uint64_t> last_sequence(Db& db);  // 0 when there was never a job

}  // namespace trainyard::scheduler
