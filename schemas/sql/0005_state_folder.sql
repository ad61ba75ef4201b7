-- Which state folder this database belongs to: the folder's file `id` says the same. No row = of before.
CREATE TABLE state_folder (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  id TEXT NOT NULL
) STRICT;
