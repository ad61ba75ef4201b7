-- What a job became by a transition: the name of the state; '' = no transition, or one of before this column, whose
-- message began with it.
ALTER TABLE job_events ADD COLUMN state TEXT NOT NULL DEFAULT '';
UPDATE job_events SET state = substr(message, 1, instr(message || ':', ':') - 1) WHERE kind = 'transition';
