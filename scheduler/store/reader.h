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
  std::string name_contains = {};  // a part of it, letters of ASCII in either case; "" = any
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
struct MetricQuery {
  std::vector<std::string> names = {};         // empty = all
  std::optional<std::int64_t> from_step = {};  // both ends included
  std::optional<std::int64_t> to_step = {};
  // Per series. One that has more is thinned: the minimum and maximum of each part of it stay.
  std::int64_t max_points = 1000;
};

// All points of the first steps from one on, none left out.
struct MetricPageQuery {
  std::int64_t from_step = 0;
  std::int64_t steps_max = 1;
};
struct MetricPage {
  std::vector<MetricSeries> series;
  std::optional<std::int64_t> last_step;  // on the page
  bool has_more = false;                  // behind it
};

// One report of metrics, among those of its job.
struct ReportKey {
  std::int64_t step = 0;
  std::int64_t attempt = 0;
  std::int64_t offset = 0;
  bool operator==(const ReportKey&) const = default;
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
  std::optional<JobState> state = {};  // of a transition: what the job became
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
  struct PageSize {
    std::int64_t rows = 0;
    std::size_t spec_bytes = SIZE_MAX;  // of the specs' text; the first job is always there
  };
  Result<JobPage> jobs(const JobFilter& filter, PageSize size,
                       std::optional<std::uint64_t> before_sequence);
  Result<std::vector<TaskAttempt>> tasks(const JobId& id, std::optional<std::int64_t> attempt);
  // Those behind `after`, by attempt, role and index.
  Result<std::vector<TaskAttempt>> tasks(const JobId& id, std::optional<std::int64_t> attempt,
                                         const std::optional<TaskKey>& after, std::int64_t limit);
  Result<std::vector<MetricSeries>> metrics(const JobId& id, const MetricQuery& query);
  Result<MetricPage> metric_page(const JobId& id, const MetricPageQuery& query);
  // See metric_rows.
  Result<std::vector<ReportKey>> reports_to_thin(const JobId& id, std::int64_t reports_max);
  // The step behind which a reader of the points up to this attempt must begin again, because a
  // later attempt went on from there; nothing when none did.
  Result<std::optional<std::int64_t>> rewound_to(const JobId& id, std::int64_t seen_attempt);
  Result<std::vector<JobEventRow>> events(const JobId& id, std::int64_t after_id,
                                          std::int64_t limit);
  Result<std::vector<Checkpoint>> checkpoints(const JobId& id);  // committed ones, oldest first
  // Those behind this step and attempt.
  Result<std::vector<Checkpoint>> checkpoints(const JobId& id,
                                              std::pair<std::int64_t, std::int64_t> after,
                                              std::int64_t limit);
  Result<std::vector<Checkpoint>> kept_checkpoints(const JobId& id);  // also those on their way
  // ok while more may come of the task; `conflict` when it is gone, not_found where there never was
  // such a task.
  Status check_goes_on(const TaskKey& task);
  // The checkpoint that the tasks of the attempt begin with: nothing where they begin anew.
  Result<std::optional<Checkpoint>> restored_by(const TaskKey& task);
  // Of the newest attempt whose chief got that far; nothing where none did.
  Result<std::optional<PartitionRow>> partition(const JobId& id);
  Result<std::map<std::string, std::int64_t>> count_jobs_by_state();

 private:
  struct Connection;
  explicit Reader(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace trainyard::scheduler
