#include "scheduler/store/job_rows.h"

#include <array>
#include <cstddef>
#include <utility>
#include <variant>

#include "schemas/wire/job_spec_json.h"
#include "schemas/wire/row_json.h"

namespace trainyard::scheduler {
namespace {

constexpr std::size_t specs_max = 1024;
constexpr std::size_t specs_json_bytes_max = 4 << 20;  // each reader has a cache

std::optional<std::string> failure_text(const Job& job) {
  if (!job.first_failure) return std::nullopt;
  return to_row_json(*job.first_failure);
}

void read_failure(Query& from, Job& job) {
  const std::optional<std::string> text = from.optional_text();
  if (!text) return;
  auto failure = from_row_json<FirstFailure>(*text);
  if (!failure) return from.fail(failure.error());
  job.first_failure = *std::move(failure);
}

// A column of `jobs`: how it is written, and read back. What never changes is written once; the
// name is there to be searched, and is read as part of the spec.
struct Column {
  enum class Change { never, any_time } change;
  std::string_view name;
  void (*write)(Query& to, const Job& job);
  void (*read)(Query& from, Job& job);
};

constexpr Column::Change never = Column::Change::never;
constexpr Column::Change any_time = Column::Change::any_time;

constexpr std::array columns{
    Column{
        never, "sequence",
        [](Query& to, const Job& job) { to.bind(static_cast<std::int64_t>(job.sequence)); },
        [](Query& from, Job& job) { job.sequence = static_cast<std::uint64_t>(from.integer()); }},
    Column{never, "id", [](Query& to, const Job& job) { to.bind(job.id.text); },
           [](Query& from, Job& job) { job.id = JobId{from.text()}; }},
    Column{
        never, "token_seed",
        [](Query& to, const Job& job) { to.bind(static_cast<std::int64_t>(job.token_seed)); },
        [](Query& from, Job& job) { job.token_seed = static_cast<std::uint64_t>(from.integer()); }},
    Column{any_time, "version", [](Query& to, const Job& job) { to.bind(job.version); },
           [](Query& from, Job& job) { job.version = from.integer(); }},
    Column{never, "name", [](Query& to, const Job& job) { to.bind(job.spec.name); }, nullptr},
    Column{never, "spec_json", [](Query& to, const Job& job) { to.bind(job.spec_json); },
           [](Query& from, Job& job) { job.spec_json = from.text(); }},
    Column{never, "spec_hash", [](Query& to, const Job& job) { to.bind(job.spec_hash); },
           [](Query& from, Job& job) { job.spec_hash = from.text(); }},
    Column{any_time, "state", [](Query& to, const Job& job) { to.bind(name_of(job.state)); },
           [](Query& from, Job& job) { job.state = from.name(job_state_from); }},
    Column{any_time, "goal", [](Query& to, const Job& job) { to.bind(name_of(job.goal)); },
           [](Query& from, Job& job) { job.goal = from.name(job_state_from); }},
    Column{any_time, "reason", [](Query& to, const Job& job) { to.bind(name_of(job.reason)); },
           [](Query& from, Job& job) { job.reason = reason_from(from.text()); }},
    Column{any_time, "message", [](Query& to, const Job& job) { to.bind(job.message); },
           [](Query& from, Job& job) { job.message = from.text(); }},
    Column{any_time, "attempt", [](Query& to, const Job& job) { to.bind(job.attempt); },
           [](Query& from, Job& job) { job.attempt = from.integer(); }},
    Column{any_time, "restarts_user", [](Query& to, const Job& job) { to.bind(job.restarts.user); },
           [](Query& from, Job& job) { job.restarts.user = from.integer(); }},
    Column{any_time, "restarts_infra",
           [](Query& to, const Job& job) { to.bind(job.restarts.infra); },
           [](Query& from, Job& job) { job.restarts.infra = from.integer(); }},
    Column{any_time, "step", [](Query& to, const Job& job) { to.bind(job.progress.step); },
           [](Query& from, Job& job) { job.progress.step = from.integer(); }},
    Column{any_time, "max_steps",
           [](Query& to, const Job& job) { to.bind(job.progress.max_steps); },
           [](Query& from, Job& job) { job.progress.max_steps = from.integer(); }},
    Column{any_time, "metrics",
           [](Query& to, const Job& job) { to.bind(to_row_json(job.progress.metrics)); },
           [](Query& from, Job& job) {
             job.progress.metrics = from.parsed(from_row_json<std::map<std::string, double>>);
           }},
    Column{any_time, "reported_at",
           [](Query& to, const Job& job) { to.bind(job.progress.reported_at); },
           [](Query& from, Job& job) { job.progress.reported_at = from.time(); }},
    Column{any_time, "first_failure", [](Query& to, const Job& job) { to.bind(failure_text(job)); },
           [](Query& from, Job& job) { read_failure(from, job); }},
    Column{any_time, "latest_checkpoint",
           [](Query& to, const Job& job) { to.bind(job.latest_checkpoint); },
           [](Query& from, Job& job) { job.latest_checkpoint = from.optional_integer(); }},
    Column{any_time, "transitions",
           [](Query& to, const Job& job) { to.bind(to_row_json(job.transitions)); },
           [](Query& from, Job& job) {
             job.transitions = from.parsed(from_row_json<std::vector<Transition>>);
           }},
    Column{never, "created_at", [](Query& to, const Job& job) { to.bind(job.created_at); },
           [](Query& from, Job& job) { job.created_at = from.time(); }},
    Column{any_time, "started_at", [](Query& to, const Job& job) { to.bind(job.started_at); },
           [](Query& from, Job& job) { job.started_at = from.time(); }},
    Column{any_time, "finished_at", [](Query& to, const Job& job) { to.bind(job.finished_at); },
           [](Query& from, Job& job) { job.finished_at = from.time(); }},
    Column{any_time, "queued_at", [](Query& to, const Job& job) { to.bind(job.queued_at); },
           [](Query& from, Job& job) { job.queued_at = from.time(); }},
    Column{any_time, "not_before", [](Query& to, const Job& job) { to.bind(job.not_before); },
           [](Query& from, Job& job) { job.not_before = from.time(); }},
};

// "a, b, c" of the columns for which `text_of` gives a text.
std::string list_of(std::string (*text_of)(const Column&)) {
  std::string list;
  for (const Column& column : columns) {
    const std::string text = text_of(column);
    if (!text.empty()) list += (list.empty() ? "" : ", ") + text;
  }
  return list;
}

std::string upsert_sql() {
  const auto name = [](const Column& column) { return std::string(column.name); };
  const auto place = [](const Column&) { return std::string("?"); };
  const auto change = [](const Column& column) {
    if (column.change == never) return std::string();
    return std::string(column.name) + " = excluded." + std::string(column.name);
  };
  return "INSERT INTO jobs (" + list_of(name) + ") VALUES (" + list_of(place) +
         ") ON CONFLICT (id) DO UPDATE SET " + list_of(change);
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
  static const std::string sql = upsert_sql();
  {
    Query query = db.query(sql);
    for (const Column& column : columns) column.write(query, job);
    query.next();
    TRY(query.finish());
  }
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

const std::string& jobs_sql() {
  static const std::string sql =
      "SELECT " +
      list_of([](const Column& column) { return std::string(column.read ? column.name : ""); }) +
      " FROM jobs ";
  return sql;
}

Result<Job> read_job(Query& query, SpecCache& specs) {
  Job job;
  for (const Column& column : columns) {
    if (column.read) column.read(query, job);
  }
  if (const Status status = query.finish(); !status) {
    return cannot_be_read(job, status.error().message);
  }
  auto spec = specs.parse(job.spec_hash, job.spec_json);
  if (!spec) return cannot_be_read(job, spec.error().message);
  job.spec = *std::move(spec);
  return job;
}

Result<Job> find_job(Db& db, const JobId& id, SpecCache& specs) {
  static const std::string sql = jobs_sql() + "WHERE id = ?";
  Query query = db.query(sql, id.text);
  if (query.next()) return read_job(query, specs);
  TRY(query.finish());
  return not_found("there is no job " + id.text);
}

Result<std::vector<Job>> read_unfinished_jobs(Db& db, SpecCache& specs) {
  static const std::string sql =
      jobs_sql() + "WHERE state NOT IN ('succeeded', 'failed', 'cancelled') ORDER BY sequence";
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
