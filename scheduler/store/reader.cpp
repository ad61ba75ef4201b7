#include "scheduler/store/reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "scheduler/store/checkpoint_rows.h"
#include "scheduler/store/db.h"
#include "scheduler/store/host_rows.h"
#include "scheduler/store/job_rows.h"
#include "scheduler/store/partition_rows.h"
#include "scheduler/store/run_rows.h"

namespace trainyard::scheduler {
namespace {

// Each number of labels is a statement of its own, which is prepared and kept.
constexpr std::size_t labels_max = 16;

std::string page_sql(const JobFilter& filter) {
  std::string sql = std::string("SELECT") + job_columns + "FROM jobs WHERE sequence < ?";
  if (filter.state) sql += " AND state = ?";
  if (!filter.name.empty()) sql += " AND name = ?";
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

Result<JobPage> Reader::jobs(const JobFilter& filter, std::int64_t limit,
                             std::optional<std::uint64_t> before_sequence) {
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
  for (const auto& [key, value] : filter.labels) query.bind(key, value);
  query.bind(limit + 1);  // one more tells whether there is a next page

  JobPage page;
  while (query.next()) {
    if (std::ssize(page.jobs) == limit) {
      page.next_before = page.jobs.back().sequence;
      break;
    }
    TRY_ASSIGN(Job job, read_job(query, connection_->specs));
    page.jobs.push_back(std::move(job));
  }
  TRY(query.finish());
  return page;
}

Result<std::vector<TaskAttempt>> Reader::tasks(const JobId& id,
                                               std::optional<std::int64_t> attempt) {
  return read_tasks(connection_->db, id, attempt);
}

Result<std::vector<MetricSeries>> Reader::metrics(const JobId& id, const MetricQuery& query) {
  return read_metrics(connection_->db, id, query);
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
