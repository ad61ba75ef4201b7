-- How a task reaches the parameters, as it told when it began to train; '' where it told nothing.
ALTER TABLE tasks ADD COLUMN routes TEXT NOT NULL DEFAULT '';
