#include "scheduler/store/metric_rows.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "scheduler/store/thin.h"
#include "schemas/wire/row_json.h"

namespace trainyard::scheduler {
namespace {

constexpr std::int64_t first_step = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t last_step = std::numeric_limits<std::int64_t>::max();

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

// One row.
struct Report {
  ReportKey key;
  WallTime time;
  std::map<std::string, double> values;
};

struct Steps {
  std::int64_t from = first_step;  // both ends included
  std::int64_t to = last_step;
};

// In the order of steps, attempts and offsets, until `take` returns false; without those that an
// attempt which went on from earlier hides.
Status each_report(Db& db, const JobId& job, Steps steps,
                   const std::function<bool(const Report&)>& take) {
  TRY_ASSIGN(const Horizon horizon, Horizon::read(db, job));
  Query query = db.query(
      "SELECT step, attempt, event_offset, time, metrics FROM metric_reports WHERE job = ? "
      "AND step BETWEEN ? AND ? ORDER BY step, attempt, event_offset",
      job.text, steps.from, steps.to);
  while (query.next()) {
    Report report;
    report.key = {.step = query.integer(), .attempt = query.integer(), .offset = query.integer()};
    if (horizon.hides(report.key.attempt, report.key.step)) continue;
    report.time = query.time();
    report.values = query.parsed(from_row_json<std::map<std::string, double>>);
    if (!query.finish() || !take(report)) break;
  }
  return query.finish();
}

// What several reports of one step say together: of each name the newest value.
class PointsOfStep {
 public:
  using Give = std::function<void(const std::string& name, const MetricPoint& point)>;
  explicit PointsOfStep(Give give) : give_(std::move(give)) {}

  void add(const Report& report) {
    if (report.key.step != step_) flush();
    step_ = report.key.step;
    for (const auto& [name, value] : report.values) {
      points_[name] = {.step = step_, .value = value, .time = report.time};
    }
  }
  void flush() {
    for (const auto& [name, point] : points_) give_(name, point);
    points_.clear();
  }

 private:
  const Give give_;
  std::int64_t step_ = first_step;
  std::map<std::string, MetricPoint> points_;
};

std::vector<MetricSeries> in_order(std::map<std::string, std::vector<MetricPoint>> by_name) {
  std::vector<MetricSeries> series;
  for (auto& [name, points] : by_name) series.push_back({name, std::move(points)});
  return series;
}

std::map<std::string, Thinner> thinned(Db& db, const JobId& job, const MetricQuery& wanted,
                                       Status& read) {
  std::map<std::string, Thinner> series;
  PointsOfStep merged([&](const std::string& name, const MetricPoint& point) {
    if (!wanted.names.empty() && std::ranges::count(wanted.names, name) == 0) return;
    series.try_emplace(name, wanted.max_points).first->second.add(point);
  });
  read = each_report(
      db, job,
      {.from = wanted.from_step.value_or(first_step), .to = wanted.to_step.value_or(last_step)},
      [&](const Report& report) {
        merged.add(report);
        return true;
      });
  merged.flush();
  return series;
}

Result<std::int64_t> count_reports(Db& db, const JobId& job) {
  Query query = db.query("SELECT count(*) FROM metric_reports WHERE job = ?", job.text);
  const std::int64_t count = query.next() ? query.integer() : 0;
  TRY(query.finish());
  return count;
}

}  // namespace

Status append_report(Db& db, const ReportSource& source, const MetricEvent& metric) {
  if (metric.values.empty()) return ok();
  return db.run(
      "INSERT OR IGNORE INTO metric_reports (job, step, attempt, event_offset, time, metrics) "
      "VALUES (?, ?, ?, ?, ?, ?)",
      source.task.job.text, metric.step, source.task.attempt, source.event.offset,
      source.event.time, to_row_json(metric.values));
}

Status roll_back_metrics(Db& db, const RollBackMetrics& change) {
  return db.run("INSERT OR REPLACE INTO metric_rollbacks (job, attempt, step) VALUES (?, ?, ?)",
                change.job.text, change.attempt, change.step);
}

Result<std::optional<std::int64_t>> read_rewind(Db& db, const JobId& job, std::int64_t attempt) {
  Query query = db.query("SELECT min(step) FROM metric_rollbacks WHERE job = ? AND attempt > ?",
                         job.text, attempt);
  const auto least = query.next() ? query.optional_integer() : std::nullopt;
  TRY(query.finish());
  return least;
}

Result<std::vector<MetricSeries>> read_metrics(Db& db, const JobId& job, const MetricQuery& query) {
  Status read = ok();
  const std::map<std::string, Thinner> series = thinned(db, job, query, read);
  TRY(std::move(read));
  std::map<std::string, std::vector<MetricPoint>> shown;
  for (const auto& [name, thinner] : series) shown[name] = thinner.take();
  return in_order(std::move(shown));
}

Result<MetricPage> read_metric_page(Db& db, const JobId& job, const MetricPageQuery& query) {
  MetricPage page;
  std::map<std::string, std::vector<MetricPoint>> series;
  std::int64_t steps = 0;
  PointsOfStep merged(
      [&](const std::string& name, const MetricPoint& point) { series[name].push_back(point); });
  TRY(each_report(db, job, {.from = query.from_step}, [&](const Report& report) {
    const bool is_next = !page.last_step || *page.last_step != report.key.step;
    page.has_more = is_next && steps == query.steps_max;
    if (page.has_more) return false;
    if (is_next) ++steps;
    page.last_step = report.key.step;
    merged.add(report);
    return true;
  }));
  merged.flush();
  page.series = in_order(std::move(series));
  return page;
}

Result<std::vector<ReportKey>> reports_to_thin(Db& db, const JobId& job, std::int64_t reports_max) {
  TRY_ASSIGN(const std::int64_t count, count_reports(db, job));
  if (count <= reports_max) return std::vector<ReportKey>{};
  Status read = ok();
  const std::int64_t per_series = 1000;
  const auto series = thinned(db, job, {.max_points = per_series}, read);
  TRY(std::move(read));
  // Steps at which some series has a point that its curve needs; no more of each series than leaves
  // the whole within the bound.
  const std::int64_t share = reports_max / std::max<std::int64_t>(std::ssize(series), 1);
  std::set<std::int64_t> kept;
  for (const auto& [name, thinner] : series) {
    Thinner thinnest(std::min(per_series, share));
    for (const MetricPoint& point : thinner.take()) thinnest.add(point);
    for (const MetricPoint& point : thinnest.take()) kept.insert(point.step);
  }
  std::vector<ReportKey> removed;
  Query query = db.query(
      "SELECT step, attempt, event_offset FROM metric_reports WHERE job = ? "
      "ORDER BY step, attempt, event_offset",
      job.text);
  TRY_ASSIGN(const Horizon horizon, Horizon::read(db, job));
  while (query.next()) {
    const ReportKey key{
        .step = query.integer(), .attempt = query.integer(), .offset = query.integer()};
    if (!kept.contains(key.step) || horizon.hides(key.attempt, key.step)) removed.push_back(key);
  }
  TRY(query.finish());
  return removed;
}

Status remove_reports(Db& db, const JobId& job, std::span<const ReportKey> reports) {
  for (const ReportKey& key : reports) {
    TRY(
        db.run("DELETE FROM metric_reports "
               "WHERE job = ? AND step = ? AND attempt = ? AND event_offset = ?",
               job.text, key.step, key.attempt, key.offset));
  }
  return ok();
}

}  // namespace trainyard::scheduler
