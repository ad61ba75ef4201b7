// What runs tell: the tables run_events and job_events; metrics go to metric_rows.
#pragma once

#include <vector>

#include "scheduler/core/events.h"
#include "scheduler/store/db.h"
#include "scheduler/store/reader.h"

namespace trainyard::scheduler {

// Events that are there already stay as they are.
Status append_run_events(Db& db, const AppendRunEvents& change);
Status append_job_event(Db& db, const AppendJobEvent& change);

struct JobEventPage {
  JobId job;
  std::int64_t after_id = 0;
  std::int64_t limit = 0;
};
Result<std::vector<JobEventRow>> read_job_events(Db& db, const JobEventPage& page);

}  // namespace trainyard::scheduler
