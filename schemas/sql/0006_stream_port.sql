-- The second port of a task that serves parameters; 0 = it has none.
ALTER TABLE tasks ADD COLUMN stream_port INTEGER NOT NULL DEFAULT 0;
