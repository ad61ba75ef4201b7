// What runs tell: the tables run_events, metric_series, metric_points, metric_rollbacks and
// job_events.
#pragma once

#include <vector>

#include "scheduler/core/events.h"
#include "scheduler/store/db.h"
#include "scheduler/store/reader.h"

namespace trainyard::scheduler {

// Events that are there already stay as they are.
Status append_run_events(Db& db, const AppendRunEvents& change);
Status roll_back_metrics(Db& db, const RollBackMetrics& change);
Status append_job_event(Db& db, const AppendJobEvent& change);

// Of a name that has several points at one step the newest is shown; points of an attempt that was
// rolled back beyond where a later one went on are not.
Result<std::vector<MetricSeries>> read_metrics(Db& db, const JobId& job, const MetricQuery& query);

// The least step from which an attempt after this one went on.
Result<std::optional<std::int64_t>> read_rewind(Db& db, const JobId& job, std::int64_t attempt);

struct JobEventPage {
  JobId job;
  std::int64_t after_id = 0;
  std::int64_t limit = 0;
};
Result<std::vector<JobEventRow>> read_job_events(Db& db, const JobEventPage& page);

}  // namespace trainyard::scheduler
