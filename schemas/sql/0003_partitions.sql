-- How the parameters of a job's newest attempt are divided among the tasks that hold them, as its chief
-- told: JSON (schemas/wire/partition_json).
CREATE TABLE partitions (
  job TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
  attempt INTEGER NOT NULL,
  partition TEXT NOT NULL
) STRICT, WITHOUT ROWID;
