// What runs report of their metrics: the tables metric_reports (one row for each report, with all
// its values) and metric_rollbacks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/core/events.h"
#include "scheduler/store/db.h"
#include "scheduler/store/reader.h"
#include "schemas/types/run_event.h"

namespace trainyard::scheduler {

struct ReportSource {
  const TaskKey& task;
  const RunEvent& event;
};
// A report that is there already stays as it is.
Status append_report(Db& db, const ReportSource& source, const MetricEvent& metric);
Status roll_back_metrics(Db& db, const RollBackMetrics& change);

// Of a name that has several points at one step the newest is shown; points of an attempt that was
// rolled back beyond where a later one went on are not.
Result<std::vector<MetricSeries>> read_metrics(Db& db, const JobId& job, const MetricQuery& query);
Result<MetricPage> read_metric_page(Db& db, const JobId& job, const MetricPageQuery& query);

// The least step from which an attempt after this one went on.
Result<std::optional<std::int64_t>> read_rewind(Db& db, const JobId& job, std::int64_t attempt);

// Of a job that has ended and has more reports than `reports_max`: those that no curve needs, and
// those that are hidden for good. Without them there are no more than that.
Result<std::vector<ReportKey>> reports_to_thin(Db& db, const JobId& job, std::int64_t reports_max);
Status remove_reports(Db& db, const JobId& job, std::span<const ReportKey> reports);

}  // namespace trainyard::scheduler
