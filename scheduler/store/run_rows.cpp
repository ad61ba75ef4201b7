#include "scheduler/store/run_rows.h"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "scheduler/store/thin.h"
#include "schemas/wire/run_event_json.h"

namespace trainyard::scheduler {
namespace {

struct Series {
  std::int64_t id = 0;
  std::string name;
};

Result<std::int64_t> series_id(Db& db, const JobId& job, const std::string& name) {
  TRY(db.run("INSERT OR IGNORE INTO metric_series (job, name) VALUES (?, ?)", job.text, name));
  Query query = db.query("SELECT id FROM metric_series WHERE job = ? AND name = ?", job.text, name);
  const std::int64_t id = query.next() ? query.integer() : 0;
  TRY(query.finish());
  return id;
}

Status append_points(Db& db, const TaskKey& task, const RunEvent& event,
                     const MetricEvent& metric) {
  for (const auto& [name, value] : metric.values) {
    TRY_ASSIGN(const std::int64_t series, series_id(db, task.job, name));
    TRY(db.run(
        "INSERT OR IGNORE INTO metric_points (series, step, attempt, event_offset, time, value) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        series, metric.step, task.attempt, event.offset, event.time, value));
  }
  return ok();
}

Status append_line(Db& db, const TaskKey& task, const RunEvent& event) {
  return db.run(
      "INSERT OR IGNORE INTO run_events (job, attempt, role, task_index, event_offset, line) "
      "VALUES (?, ?, ?, ?, ?, ?)",
      task.job.text, task.attempt, name_of(task.role), task.index, event.offset,
      to_json_line(event));
}

// Up to which step the points of each attempt are shown.
class Horizon {
 public:
  static Result<Horizon> read(Db& db, const JobId& job) {
    Horizon horizon;
    Query query = db.query(
        "SELECT attempt, step FROM metric_rollbacks WHERE job = ? ORDER BY attempt DESC", job.text);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    while (query.next()) {
      const std::int64_t attempt = query.integer();
      least = std::min(least, query.integer());
      horizon.rollbacks_.emplace_back(attempt, least);
    }
    TRY(query.finish());
    std::ranges::reverse(horizon.rollbacks_);
    return horizon;
  }

  [[nodiscard]] bool hides(std::int64_t attempt, std::int64_t step) const {
    const auto later = std::ranges::upper_bound(rollbacks_, attempt, {},
                                                &std::pair<std::int64_t, std::int64_t>::first);
    return later != rollbacks_.end() && step > later->second;
  }

 private:
  // Attempt, and the least step that it or a later one went on from; ascending.
  std::vector<std::pair<std::int64_t, std::int64_t>> rollbacks_;
};

Result<std::vector<Series>> series_of(Db& db, const JobId& job,
                                      const std::vector<std::string>& names) {
  Query query =
      db.query("SELECT id, name FROM metric_series WHERE job = ? ORDER BY name", job.text);
  std::vector<Series> all;
  while (query.next()) {
    Series series{.id = query.integer(), .name = query.text()};
    if (names.empty() || std::ranges::count(names, series.name) > 0)
      all.push_back(std::move(series));
  }
  TRY(query.finish());
  return all;
}

// The points of one series that the query is answered with.
class Kept {
 public:
  explicit Kept(const MetricQuery& wanted) : wanted_(wanted), thinner_(wanted.max_points) {}

  [[nodiscard]] bool is_full() const {
    return wanted_.too_many == TooMany::cut_off && std::ssize(first_) >= wanted_.max_points;
  }
  void add(const MetricPoint& point) {
    if (wanted_.too_many == TooMany::cut_off) return first_.push_back(point);
    thinner_.add(point);
  }
  [[nodiscard]] std::vector<MetricPoint> take() {
    return wanted_.too_many == TooMany::cut_off ? std::move(first_) : thinner_.take();
  }

 private:
  const MetricQuery& wanted_;
  std::vector<MetricPoint> first_;
  Thinner thinner_;
};

Result<std::vector<MetricPoint>> read_points(Db& db, const Series& series,
                                             const MetricQuery& wanted, const Horizon& horizon) {
  Query query = db.query(
      "SELECT step, attempt, time, value FROM metric_points WHERE series = ? AND step BETWEEN ? "
      "AND ? "
      "ORDER BY step, attempt, event_offset",
      series.id, wanted.from_step.value_or(std::numeric_limits<std::int64_t>::min()),
      wanted.to_step.value_or(std::numeric_limits<std::int64_t>::max()));
  Kept kept(wanted);
  std::optional<MetricPoint> newest;  // of the step that is being read
  while (!kept.is_full() && query.next()) {
    const std::int64_t step = query.integer();
    const std::int64_t attempt = query.integer();
    if (horizon.hides(attempt, step)) continue;
    if (newest && newest->step != step) kept.add(*newest);
    const WallTime time = query.time();
    newest = MetricPoint{.step = step, .value = query.real(), .time = time};
  }
  TRY(query.finish());
  if (newest && !kept.is_full()) kept.add(*newest);
  return kept.take();
}

}  // namespace

Status append_run_events(Db& db, const AppendRunEvents& change) {
  for (const RunEvent& event : change.events) {
    const auto* metric = std::get_if<MetricEvent>(&event.what);
    TRY(metric != nullptr ? append_points(db, change.task, event, *metric)
                          : append_line(db, change.task, event));
  }
  return ok();
}

Status roll_back_metrics(Db& db, const RollBackMetrics& change) {
  return db.run("INSERT OR REPLACE INTO metric_rollbacks (job, attempt, step) VALUES (?, ?, ?)",
                change.job.text, change.attempt, change.step);
}

Status append_job_event(Db& db, const AppendJobEvent& change) {
  return db.run(
      "INSERT INTO job_events (job, kind, message, task, reason, attempt, time) "
      "VALUES (?, ?, ?, ?, ?, ?, ?)",
      change.job.text, change.kind, change.message, change.task, name_of(change.reason),
      change.attempt, change.time);
}

Result<std::vector<MetricSeries>> read_metrics(Db& db, const JobId& job, const MetricQuery& query) {
  TRY_ASSIGN(const Horizon horizon, Horizon::read(db, job));
  TRY_ASSIGN(const std::vector<Series> all, series_of(db, job, query.names));
  std::vector<MetricSeries> shown;
  for (const Series& series : all) {
    TRY_ASSIGN(std::vector<MetricPoint> points, read_points(db, series, query, horizon));
    if (!points.empty()) shown.push_back({series.name, std::move(points)});
  }
  return shown;
}

Result<std::optional<std::int64_t>> read_rewind(Db& db, const JobId& job, std::int64_t attempt) {
  Query query = db.query("SELECT min(step) FROM metric_rollbacks WHERE job = ? AND attempt > ?",
                         job.text, attempt);
  const auto least = query.next() ? query.optional_integer() : std::nullopt;
  TRY(query.finish());
  return least;
}

Result<std::vector<JobEventRow>> read_job_events(Db& db, const JobEventPage& page) {
  Query query = db.query(
      "SELECT id, kind, message, task, reason, attempt, time FROM job_events "
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
  }
  TRY(query.finish());
  return rows;
}

}  // namespace trainyard::scheduler
