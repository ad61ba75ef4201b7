// What REST reads: only what is durable, through a read-only connection of its own (one Reader per
// thread), so that a slow reader never delays the scheduler.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/types/checkpoint.h"
#include "schemas/types/job.h"
#include "schemas/types/partition.h"
#include "schemas/types/task.h"

namespace trainyard::scheduler {

struct JobFilter {
  std::optional<JobState> state = {};
  std::string name = {};                                         // exact; "" = any
  std::vector<std::pair<std::string, std::string>> labels = {};  // all must be there
};
struct JobPage {
  std::vector<Job> jobs;                     // newest first
  std::optional<std::uint64_t> next_before;  // sequence to go on below; none on the last page
};

struct MetricPoint {
  std::int64_t step = 0;
  double value = 0;
  WallTime time;
};
struct MetricSeries {
  std::string name;
  std::vector<MetricPoint> points;  // ascending steps, none twice
};
// What becomes of a series that has more points than asked for: thinned, so that the minimum and
// maximum of each bucket stay, or cut off behind the first ones.
enum class TooMany { thinned, cut_off };
struct MetricQuery {
  std::vector<std::string> names = {};         // empty = all
  std::optional<std::int64_t> from_step = {};  // both ends included
  std::optional<std::int64_t> to_step = {};
  std::int64_t max_points = 1000;  // per series
  TooMany too_many = TooMany::thinned;
};

struct JobEventRow {
  std::int64_t id = 0;  // ascending over all jobs: Last-Event-ID
  JobId job;
  std::string kind;
  std::string message;
  std::string task;
  Reason reason = Reason::none;
  std::int64_t attempt = 0;
  WallTime time;
};

// What the chief of an attempt told of the parameters' division.
struct PartitionRow {
  std::int64_t attempt = 0;
  Partition partition;
  bool operator==(const PartitionRow&) const = default;
};

class Reader {
 public:
  static Result<Reader> open(const std::string& database_path);
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;
  ~Reader();

  Result<Job> job(const JobId& id);  // not_found
  Result<JobPage> jobs(const JobFilter& filter, std::int64_t limit,
                       std::optional<std::uint64_t> before_sequence);
  Result<std::vector<TaskAttempt>> tasks(const JobId& id, std::optional<std::int64_t> attempt);
  Result<std::vector<MetricSeries>> metrics(const JobId& id, const MetricQuery& query);
  // The step behind which a reader of the points up to this attempt must begin again, because a
  // later attempt went on from there; nothing when none did.
  Result<std::optional<std::int64_t>> rewound_to(const JobId& id, std::int64_t seen_attempt);
  Result<std::vector<JobEventRow>> events(const JobId& id, std::int64_t after_id,
                                          std::int64_t limit);
  Result<std::vector<Checkpoint>> checkpoints(const JobId& id);  // committed ones, oldest first
  // Of the newest attempt whose chief got that far; nothing where none did.
  Result<std::optional<PartitionRow>> partition(const JobId& id);
  Result<std::map<std::string, std::int64_t>> count_jobs_by_state();

 private:
  struct Connection;
  explicit Reader(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace trainyard::scheduler
