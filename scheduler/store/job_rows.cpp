#include "scheduler/store/job_rows.h"

#include <cstddef>
#include <utility>
#include <variant>

#include "schemas/wire/job_spec_json.h"
#include "schemas/wire/row_json.h"

namespace trainyard::scheduler {
namespace {

constexpr std::size_t specs_max = 1024;
constexpr std::size_t specs_json_bytes_max = 4 << 20;  // each reader has a cache

constexpr std::string_view upsert_job =
    "INSERT INTO jobs (sequence, id, token_seed, version, name, spec_json, spec_hash, state, goal, "
    "reason, message, attempt, restarts_user, restarts_infra, step, max_steps, metrics, "
    "reported_at, "
    "first_failure, latest_checkpoint, transitions, created_at, started_at, finished_at, "
    "queued_at, "
    "not_before) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (id) DO UPDATE SET version = excluded.version, state = excluded.state, "
    "goal = excluded.goal, reason = excluded.reason, message = excluded.message, "
    "attempt = excluded.attempt, restarts_user = excluded.restarts_user, "
    "restarts_infra = excluded.restarts_infra, step = excluded.step, max_steps = "
    "excluded.max_steps, "
    "metrics = excluded.metrics, reported_at = excluded.reported_at, "
    "first_failure = excluded.first_failure, latest_checkpoint = excluded.latest_checkpoint, "
    "transitions = excluded.transitions, started_at = excluded.started_at, "
    "finished_at = excluded.finished_at, queued_at = excluded.queued_at, "
    "not_before = excluded.not_before";

std::optional<std::string> failure_text(const Job& job) {
  if (!job.first_failure) return std::nullopt;
  return to_row_json(*job.first_failure);
}

Status save_labels(Db& db, const Job& job) {
  for (const auto& [key, value] : job.spec.labels) {
    TRY(db.run("INSERT OR IGNORE INTO job_labels (key, value, sequence) VALUES (?, ?, ?)", key,
               value, static_cast<std::int64_t>(job.sequence)));
  }
  return ok();
}

Error cannot_be_read(const Job& job, const std::string& why) {
  return internal("job " + job.id.text + " cannot be read back: " + why);
}

void read_status(Query& query, Job& job) {
  job.state = query.name(job_state_from);
  job.goal = query.name(job_state_from);
  job.reason = reason_from(query.text());
  job.message = query.text();
  job.attempt = query.integer();
  job.restarts.user = query.integer();
  job.restarts.infra = query.integer();
  job.progress.step = query.integer();
  job.progress.max_steps = query.integer();
  job.progress.metrics = query.parsed(from_row_json<std::map<std::string, double>>);
  job.progress.reported_at = query.time();
  if (const std::optional<std::string> text = query.optional_text()) {
    auto failure = from_row_json<FirstFailure>(*text);
    if (!failure) return query.fail(failure.error());
    job.first_failure = *std::move(failure);
  }
  job.latest_checkpoint = query.optional_integer();
  job.transitions = query.parsed(from_row_json<std::vector<Transition>>);
  job.created_at = query.time();
  job.started_at = query.time();
  job.finished_at = query.time();
  job.queued_at = query.time();
  job.not_before = query.time();
}

}  // namespace

Result<JobSpec> SpecCache::parse(const std::string& spec_hash, std::string_view spec_json) {
  if (const auto known = specs_.find(spec_hash); known != specs_.end()) return known->second;

  const ParsedJobSpec parsed = parse_stored_job_spec(spec_json);
  if (const auto* faults = std::get_if<std::vector<Fault>>(&parsed)) {
    return internal(to_error("stored spec", *faults).message);
  }
  if (const auto* not_json = std::get_if<NotJson>(&parsed)) {
    return internal("stored spec: " + not_json->message);
  }
  if (specs_.size() >= specs_max || json_bytes_ + spec_json.size() > specs_json_bytes_max) {
    specs_.clear();
    json_bytes_ = 0;
  }
  json_bytes_ += spec_json.size();
  return specs_.emplace(spec_hash, std::get<JobSpec>(parsed)).first->second;
}

Status save_job(Db& db, const Job& job) {
  TRY(db.run(upsert_job, static_cast<std::int64_t>(job.sequence), job.id.text,
             static_cast<std::int64_t>(job.token_seed), job.version, job.spec.name, job.spec_json,
             job.spec_hash, name_of(job.state), name_of(job.goal), name_of(job.reason), job.message,
             job.attempt, job.restarts.user, job.restarts.infra, job.progress.step,
             job.progress.max_steps, to_row_json(job.progress.metrics), job.progress.reported_at,
             failure_text(job), job.latest_checkpoint, to_row_json(job.transitions), job.created_at,
             job.started_at, job.finished_at, job.queued_at, job.not_before));
  return save_labels(db, job);
}

Status remove_job(Db& db, const JobId& id) {
  return db.run("DELETE FROM jobs WHERE id = ?", id.text);
}

Status save_key(Db& db, const IdempotencyKey& key) {
  return db.run("INSERT INTO idempotency_keys (key, request_hash, job) VALUES (?, ?, ?)", key.key,
                key.request_hash, key.job.text);
}

Result<std::optional<IdempotencyKey>> find_key(Db& db, const std::string& key) {
  Query query = db.query("SELECT request_hash, job FROM idempotency_keys WHERE key = ?", key);
  std::optional<IdempotencyKey> found;
  if (query.next()) {
    found = IdempotencyKey{.key = key, .request_hash = query.text(), .job = JobId{query.text()}};
  }
  TRY(query.finish());
  return found;
}

const char* const job_columns =
    " sequence, id, token_seed, version, spec_json, spec_hash, state, goal, reason, message, "
    "attempt, "
    "restarts_user, restarts_infra, step, max_steps, metrics, reported_at, first_failure, "
    "latest_checkpoint, transitions, created_at, started_at, finished_at, queued_at, not_before ";

Result<Job> read_job(Query& query, SpecCache& specs) {
  Job job;
  job.sequence = static_cast<std::uint64_t>(query.integer());
  job.id = JobId{query.text()};
  job.token_seed = static_cast<std::uint64_t>(query.integer());
  job.version = query.integer();
  job.spec_json = query.text();
  job.spec_hash = query.text();
  read_status(query, job);
  if (const Status status = query.finish(); !status) {
    return cannot_be_read(job, status.error().message);
  }
  auto spec = specs.parse(job.spec_hash, job.spec_json);
  if (!spec) return cannot_be_read(job, spec.error().message);
  job.spec = *std::move(spec);
  return job;
}

Result<Job> find_job(Db& db, const JobId& id, SpecCache& specs) {
  static const std::string sql = std::string("SELECT") + job_columns + "FROM jobs WHERE id = ?";
  Query query = db.query(sql, id.text);
  if (query.next()) return read_job(query, specs);
  TRY(query.finish());
  return not_found("there is no job " + id.text);
}

Result<std::vector<Job>> read_unfinished_jobs(Db& db, SpecCache& specs) {
  static const std::string sql =
      std::string("SELECT") + job_columns +
      "FROM jobs WHERE state NOT IN ('succeeded', 'failed', 'cancelled') "
      "ORDER BY sequence";
  Query query = db.query(sql);
  std::vector<Job> jobs;
  while (query.next()) {
    TRY_ASSIGN(Job job, read_job(query, specs));
    jobs.push_back(std::move(job));
  }
  TRY(query.finish());
  return jobs;
}

Result<std::uint64_t> last_sequence(Db& db) {
  Query query = db.query("SELECT coalesce(max(sequence), 0) FROM jobs");
  const std::int64_t last = query.next() ? query.integer() : 0;
  TRY(query.finish());
  return static_cast<std::uint64_t>(last);
}

}  // namespace trainyard::scheduler
