#include "scheduler/store/run_rows.h"

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "scheduler/store/metric_rows.h"
#include "schemas/wire/run_event_json.h"

namespace trainyard::scheduler {
namespace {

Status append_line(Db& db, const TaskKey& task, const RunEvent& event) {
  return db.run(
      "INSERT OR IGNORE INTO run_events (job, attempt, role, task_index, event_offset, line) "
      "VALUES (?, ?, ?, ?, ?, ?)",
      task.job.text, task.attempt, name_of(task.role), task.index, event.offset,
      to_json_line(event));
}

}  // namespace

Status append_run_events(Db& db, const AppendRunEvents& change) {
  for (const RunEvent& event : change.events) {
    const auto* metric = std::get_if<MetricEvent>(&event.what);
    TRY(metric != nullptr ? append_report(db, {change.task, event}, *metric)
                          : append_line(db, change.task, event));
  }
  return ok();
}

Status append_job_event(Db& db, const AppendJobEvent& change) {
  return db.run(
      "INSERT INTO job_events (job, kind, message, task, reason, attempt, time, state) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
      change.job.text, change.kind, change.message, change.task, name_of(change.reason),
      change.attempt, change.time, change.state ? name_of(*change.state) : "");
}

Result<std::vector<JobEventRow>> read_job_events(Db& db, const JobEventPage& page) {
  Query query = db.query(
      "SELECT id, kind, message, task, reason, attempt, time, state FROM job_events "
      "WHERE job = ? AND id > ? ORDER BY id LIMIT ?",
      page.job.text, page.after_id, page.limit);
  std::vector<JobEventRow> rows;
  while (query.next()) {
    JobEventRow& row = rows.emplace_back();
    row.id = query.integer();
    row.job = page.job;
    row.kind = query.text();
    row.message = query.text();
    row.task = query.text();
    row.reason = reason_from(query.text());
    row.attempt = query.integer();
    row.time = query.time();
    row.state = job_state_from(query.text());
  }
  TRY(query.finish());
  return rows;
}

}  // namespace trainyard::scheduler
