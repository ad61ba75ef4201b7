// A job's events as the entries of its timeline.
import {JOB_STATES, type JobEvent, type JobState} from '../../api/types';

export interface TimelineEntry {
  id: number;
  state: JobState | null; // that the job went into
  subject: string; // the state or the task, first in the sentence
  words: string;
  reason: string | null; // of what went wrong
  isAgainst: boolean;
  isCheckpoint: boolean;
  attempt: number;
  time: string;
}

const FOLDED_FROM = 3; // checkpoints in a row, which are then one entry

// In the order of the events.
export function entriesOf(events: JobEvent[]): TimelineEntry[] {
  const entries: TimelineEntry[] = [];
  for (let at = 0; at < events.length;) {
    let end = at;
    while (events[end]?.kind === 'checkpoint') ++end;
    const row = events.slice(at, Math.max(end, at + 1));
    if (row.length >= FOLDED_FROM) entries.push(folded(row));
    else entries.push(...row.map(entryOf));
    at += row.length;
  }
  return entries;
}

function entryOf(event: JobEvent): TimelineEntry {
  const state = event.kind === 'transition' ? stateIn(event.message) : null;
  const subject = state ?? event.task ?? '';
  const isAgainst = event.reason_class === 'USER' || event.reason_class === 'INFRA';
  return {
    id: event.id,
    state,
    subject,
    words: withoutSubject(event.message, subject),
    reason: isAgainst ? event.reason : null,
    isAgainst,
    isCheckpoint: event.kind === 'checkpoint',
    attempt: event.attempt,
    time: event.time,
  };
}

// "checkpoint of step 200 is committed", …, "… of step 4000 …"
function folded(events: JobEvent[]): TimelineEntry {
  const last = events[events.length - 1] as JobEvent;
  const step = (event: JobEvent | undefined) =>
    /step (\d+)/.exec(event?.message ?? '')?.[1] ?? '?';
  const range = `of step ${step(events[0])} to ${step(last)}`;
  return {...entryOf(last), words: `${events.length} checkpoints, ${range}, are committed`};
}

// "running: all tasks are running" begins with the state that the job went into.
function stateIn(message: string): JobState | null {
  return JOB_STATES.find((state) => message === state || message.startsWith(`${state}:`)) ?? null;
}

function withoutSubject(message: string, subject: string): string {
  if (subject === '' || !message.startsWith(subject)) return message;
  const rest = message.slice(subject.length);
  return /^[: ]|^$/.test(rest) ? rest.replace(/^:?\s*/, '') : message;
}
