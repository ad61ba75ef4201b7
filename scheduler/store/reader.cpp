#include "scheduler/store/reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "scheduler/core/checkpoints.h"
#include "scheduler/store/checkpoint_rows.h"
#include "scheduler/store/db.h"
#include "scheduler/store/host_rows.h"
#include "scheduler/store/job_rows.h"
#include "scheduler/store/metric_rows.h"
#include "scheduler/store/partition_rows.h"
#include "scheduler/store/run_rows.h"

namespace trainyard::scheduler {
namespace {

// Each number of labels is a statement of its own, which is prepared and kept.
constexpr std::size_t labels_max = 16;

std::string page_sql(const JobFilter& filter) {
  std::string sql = jobs_sql() + "WHERE sequence < ?";
  if (filter.state) sql += " AND state = ?";
  if (!filter.name.empty()) sql += " AND name = ?";
  if (!filter.name_contains.empty()) sql += " AND instr(lower(name), lower(?)) > 0";
  for (std::size_t i = 0; i < filter.labels.size(); ++i) {
    sql += " AND sequence IN (SELECT sequence FROM job_labels WHERE key = ? AND value = ?)";
  }
  return sql + " ORDER BY sequence DESC LIMIT ?";
}

}  // namespace

struct Reader::Connection {
  Db db;
  SpecCache specs;
};

Reader::Reader(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;
Reader::~Reader() = default;

Result<Reader> Reader::open(const std::string& database_path) {
  TRY_ASSIGN(Db db, Db::open(database_path, Access::read_only));
  return Reader(std::make_unique<Connection>(Connection{.db = std::move(db), .specs = {}}));
}

Result<Job> Reader::job(const JobId& id) {
  return find_job(connection_->db, id, connection_->specs);
}

Result<JobPage> Reader::jobs(const JobFilter& filter, PageSize size,
                             std::optional<std::uint64_t> before_sequence) {
  const std::int64_t limit = size.rows;
  if (limit < 1) return invalid("limit must be 1 or more, got " + std::to_string(limit));
  if (filter.labels.size() > labels_max) {
    return invalid("label may be given at most " + std::to_string(labels_max) + " times");
  }
  constexpr std::uint64_t newest = std::numeric_limits<std::int64_t>::max();
  Query query = connection_->db.query(
      page_sql(filter),
      static_cast<std::int64_t>(std::min(before_sequence.value_or(newest), newest)));
  if (filter.state) query.bind(name_of(*filter.state));
  if (!filter.name.empty()) query.bind(filter.name);
  if (!filter.name_contains.empty()) query.bind(filter.name_contains);
  for (const auto& [key, value] : filter.labels) query.bind(key, value);
  query.bind(limit + 1);  // one more tells whether there is a next page

  JobPage page;
  std::size_t spec_bytes = 0;
  while (query.next()) {
    if (std::ssize(page.jobs) == limit || spec_bytes > size.spec_bytes) {
      page.next_before = page.jobs.back().sequence;
      break;
    }
    TRY_ASSIGN(Job job, read_job(query, connection_->specs));
    spec_bytes += job.spec_json.size();
    page.jobs.push_back(std::move(job));
  }
  TRY(query.finish());
  return page;
}

Result<std::vector<TaskAttempt>> Reader::tasks(const JobId& id,
                                               std::optional<std::int64_t> attempt) {
  return read_tasks(connection_->db, id, attempt);
}

Result<std::vector<TaskAttempt>> Reader::tasks(const JobId& id, std::optional<std::int64_t> attempt,
                                               const std::optional<TaskKey>& after,
                                               std::int64_t limit) {
  return read_tasks(connection_->db, id, attempt, after, limit);
}

Result<std::vector<MetricSeries>> Reader::metrics(const JobId& id, const MetricQuery& query) {
  return read_metrics(connection_->db, id, query);
}

Result<MetricPage> Reader::metric_page(const JobId& id, const MetricPageQuery& query) {
  return read_metric_page(connection_->db, id, query);
}

Result<std::vector<ReportKey>> Reader::reports_to_thin(const JobId& id, std::int64_t reports_max) {
  return scheduler::reports_to_thin(connection_->db, id, reports_max);
}

Result<std::optional<std::int64_t>> Reader::rewound_to(const JobId& id, std::int64_t seen_attempt) {
  return read_rewind(connection_->db, id, seen_attempt);
}

Result<std::vector<JobEventRow>> Reader::events(const JobId& id, std::int64_t after_id,
                                                std::int64_t limit) {
  return read_job_events(connection_->db, {.job = id, .after_id = after_id, .limit = limit});
}

Result<std::vector<Checkpoint>> Reader::checkpoints(const JobId& id) {
  return read_checkpoints(connection_->db, id, Which::committed);
}

Result<std::vector<Checkpoint>> Reader::checkpoints(const JobId& id,
                                                    std::pair<std::int64_t, std::int64_t> after,
                                                    std::int64_t limit) {
  return read_checkpoints(connection_->db, id, Which::committed, after, limit);
}

Result<std::vector<Checkpoint>> Reader::kept_checkpoints(const JobId& id) {
  return read_checkpoints(connection_->db, id, Which::kept);
}

Status Reader::check_goes_on(const TaskKey& task) {
  Query query = connection_->db.query(
      "SELECT jobs.attempt, tasks.state FROM jobs LEFT JOIN tasks ON tasks.job = jobs.id AND "
      "tasks.attempt = ? AND role = ? AND task_index = ? WHERE jobs.id = ?",
      task.attempt, name_of(task.role), task.index, task.job.text);
  const bool has_job = query.next();
  const std::int64_t newest = has_job ? query.integer() : 0;
  const std::string state = has_job ? query.text() : "";
  TRY(query.finish());
  if (!has_job) return not_found("there is no job " + task.job.text);
  if (task.attempt < newest) {
    return conflict("attempt " + std::to_string(task.attempt) + " of job " + task.job.text +
                    " is over: " + std::to_string(newest) + " is the newest");
  }
  const auto known = task_state_from(state);
  if (!known) return not_found("there is no task " + to_string(task));
  if (is_terminal(*known)) return conflict("task " + to_string(task) + " is gone");
  return ok();
}

// As the core chooses it (checkpoint_to_resume), from rows.
Result<std::optional<Checkpoint>> Reader::restored_by(const TaskKey& task) {
  std::optional<Checkpoint> given;
  TRY_ASSIGN(auto own, checkpoints(task.job));
  for (Checkpoint& checkpoint : own) {
    if (checkpoint.attempt < task.attempt) given = std::move(checkpoint);  // by ascending step
  }
  if (given) return given;
  TRY_ASSIGN(const Job row, job(task.job));
  const auto source = resume_source_of(row.spec);
  if (!source) return given;
  TRY_ASSIGN(auto theirs, checkpoints(source->first));
  for (Checkpoint& checkpoint : theirs) {
    if (checkpoint.step == source->second) given = std::move(checkpoint);
  }
  return given;
}

Result<std::optional<PartitionRow>> Reader::partition(const JobId& id) {
  return read_partition(connection_->db, id);
}

Result<std::map<std::string, std::int64_t>> Reader::count_jobs_by_state() {
  Query query = connection_->db.query("SELECT state, count(*) FROM jobs GROUP BY state");
  std::map<std::string, std::int64_t> counts;
  while (query.next()) {
    const std::string state = query.text();
    counts[state] = query.integer();
  }
  TRY(query.finish());
  return counts;
}

}  // namespace trainyard::scheduler
