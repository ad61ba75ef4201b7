-- The server's database: what must outlive it. Times are milliseconds since 1970 (0 = not set), enums
-- are their names, lists and maps that no query looks into are JSON (schemas/wire/row_json).

CREATE TABLE jobs (
  sequence INTEGER PRIMARY KEY,            -- the queue's order and the key of paging
  id TEXT NOT NULL UNIQUE,
  token_seed INTEGER NOT NULL,             -- the bits of an unsigned number
  version INTEGER NOT NULL,
  name TEXT NOT NULL,
  spec_json TEXT NOT NULL,
  spec_hash TEXT NOT NULL,
  state TEXT NOT NULL,
  goal TEXT NOT NULL,
  reason TEXT NOT NULL,
  message TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  restarts_user INTEGER NOT NULL,
  restarts_infra INTEGER NOT NULL,
  step INTEGER NOT NULL,
  max_steps INTEGER NOT NULL,
  metrics TEXT NOT NULL,
  reported_at INTEGER NOT NULL,
  first_failure TEXT,
  latest_checkpoint INTEGER,
  transitions TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  not_before INTEGER NOT NULL
) STRICT;
CREATE INDEX jobs_by_state ON jobs (state, sequence);
CREATE INDEX jobs_by_name ON jobs (name, sequence);

CREATE TABLE job_labels (
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  sequence INTEGER NOT NULL REFERENCES jobs (sequence) ON DELETE CASCADE,
  PRIMARY KEY (key, value, sequence)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_labels_by_job ON job_labels (sequence);

-- Which request made which job: the same key again gets the same job.
CREATE TABLE idempotency_keys (
  key TEXT PRIMARY KEY,
  request_hash TEXT NOT NULL,
  job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_by_job ON idempotency_keys (job);

CREATE TABLE tasks (
  job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  role TEXT NOT NULL,
  task_index INTEGER NOT NULL,
  agent TEXT NOT NULL,
  host TEXT NOT NULL,
  port INTEGER NOT NULL,
  cpus INTEGER NOT NULL,
  memory_mb INTEGER NOT NULL,
  gpu_count INTEGER NOT NULL,
  gpu_slots TEXT NOT NULL,
  state TEXT NOT NULL,
  agent_silent INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  exit_code INTEGER,
  exit_signal INTEGER,
  reason TEXT NOT NULL,
  message TEXT NOT NULL,
  events_end INTEGER NOT NULL,
  assigned_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  PRIMARY KEY (job, attempt, role, task_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  cordoned INTEGER NOT NULL,
  state TEXT NOT NULL,
  registered_at INTEGER NOT NULL,
  state_since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What tasks told, as they wrote it, but for metrics: those are points. The key makes a resend
-- harmless.
CREATE TABLE run_events (
  job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  role TEXT NOT NULL,
  task_index INTEGER NOT NULL,
  event_offset INTEGER NOT NULL,
  line TEXT NOT NULL,
  PRIMARY KEY (job, attempt, role, task_index, event_offset)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric_series (
  id INTEGER PRIMARY KEY,
  job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  UNIQUE (job, name)
) STRICT;
CREATE TABLE metric_points (
  series INTEGER NOT NULL REFERENCES metric_series (id) ON DELETE CASCADE,
  step INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  event_offset INTEGER NOT NULL,
  time INTEGER NOT NULL,
  value REAL,                              -- NULL = not a number
  PRIMARY KEY (series, step, attempt, event_offset)
) STRICT, WITHOUT ROWID;

-- The attempt went on from `step`: points of earlier attempts beyond it are kept, and not shown.
CREATE TABLE metric_rollbacks (
  job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  step INTEGER NOT NULL,
  PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoints (
  job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  step INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  state TEXT NOT NULL,
  manifest TEXT NOT NULL,
  shards TEXT NOT NULL,
  metrics TEXT NOT NULL,
  final_one INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (job, step, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,    -- Last-Event-ID: never given twice
  job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  message TEXT NOT NULL,
  task TEXT NOT NULL,
  reason TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  time INTEGER NOT NULL
) STRICT;
CREATE INDEX job_events_by_job ON job_events (job, id);
