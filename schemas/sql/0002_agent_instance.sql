-- Which work folder an agent of this name runs in: another folder is another agent. '' = not known yet.
ALTER TABLE agents ADD COLUMN instance TEXT NOT NULL DEFAULT '';
