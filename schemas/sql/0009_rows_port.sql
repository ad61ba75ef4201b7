-- Named for what it serves now: the rows of an embedding table.
ALTER TABLE tasks RENAME COLUMN stream_port TO rows_port;
