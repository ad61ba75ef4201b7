// What happened to a job, newest first: its transitions and what its tasks and checkpoints did.
import type {JSX} from 'preact';
import {useState} from 'preact/hooks';

import type {Job, JobEvent} from '../../api/types';
import {Icon} from '../../parts/icons';
import {Moment} from '../../parts/moments';
import {StateShape} from '../../parts/state_badge';
import {entriesOf, type TimelineEntry} from './timeline_entries';

const SHOWN_AT_FIRST = 30;

export function Timeline({job, events}: {job: Job; events: JobEvent[]}): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const newest = entriesOf(events).reverse();
  const shown = isWhole ? newest : newest.slice(0, SHOWN_AT_FIRST);
  return (
    <section class="panel" aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      <ol class="timeline">
        {shown.map((entry) => (
          <Entry key={entry.id} entry={entry} />
        ))}
        {events.length === 0 && (
          <li class="muted">
            Submitted <Moment time={job.status.created_at} />
          </li>
        )}
      </ol>
      {newest.length > shown.length && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          Show {newest.length - shown.length} earlier
        </button>
      )}
    </section>
  );
}

function Entry({entry}: {entry: TimelineEntry}): JSX.Element {
  return (
    <li class={entry.isAgainst ? 'entry against' : 'entry'}>
      <span class="entry-mark">
        <Mark entry={entry} />
      </span>
      <span class="entry-words">
        {entry.subject && <b>{entry.subject} </b>}
        {entry.words}
        {entry.reason && (
          <>
            {' '}
            <code class="reason">{entry.reason}</code>
          </>
        )}
      </span>
      <span class="entry-time">
        {entry.attempt > 1 && <span class="muted">attempt {entry.attempt} · </span>}
        <Moment time={entry.time} />
      </span>
    </li>
  );
}

function Mark({entry}: {entry: TimelineEntry}): JSX.Element {
  if (entry.state) return <StateShape state={entry.state} />;
  if (!entry.isCheckpoint) return <span class="entry-dot" />;
  return (
    <span class="entry-flag">
      <Icon name="flag" size={12} />
    </span>
  );
}
