// What happened to a job, newest first: its transitions and what its tasks and checkpoints did.
import type {JSX} from 'preact';
import {useState} from 'preact/hooks';

import {JOB_STATES, type Job, type JobEvent, type JobState} from '../../api/types';
import {Icon} from '../../parts/icons';
import {Moment} from '../../parts/moments';
import {StateShape} from '../../parts/state_badge';

const SHOWN_AT_FIRST = 30;

export function Timeline({job, events}: {job: Job; events: JobEvent[]}): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const newest = [...events].reverse();
  const shown = isWhole ? newest : newest.slice(0, SHOWN_AT_FIRST);
  return (
    <section class="panel" aria-labelledby="timeline">
      <h2 id="timeline">Timeline</h2>
      <ol class="timeline">
        {shown.map((event) => (
          <Entry key={event.id} event={event} />
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

function Entry({event}: {event: JobEvent}): JSX.Element {
  const state = event.kind === 'transition' ? stateIn(event.message) : null;
  const isAgainst = event.reason_class === 'USER' || event.reason_class === 'INFRA';
  const words = state ? event.message.slice(state.length).replace(/^:\s*/, '') : event.message;
  return (
    <li class={isAgainst ? 'entry against' : 'entry'}>
      <span class="entry-mark">
        {state ? (
          <StateShape state={state} />
        ) : event.kind === 'checkpoint' ? (
          <span class="entry-flag">
            <Icon name="flag" size={12} />
          </span>
        ) : (
          <span class="entry-dot" />
        )}
      </span>
      <span class="entry-words">
        {state && <b>{state} </b>}
        {event.task && <b>{event.task} </b>}
        {words}
        {event.reason && isAgainst && (
          <>
            {' '}
            <code class="reason">{event.reason}</code>
          </>
        )}
      </span>
      <span class="entry-time">
        {event.attempt > 1 && <span class="muted">attempt {event.attempt} · </span>}
        <Moment time={event.time} />
      </span>
    </li>
  );
}

// "running: all tasks are running" begins with the state that the job went into.
function stateIn(message: string): JobState | null {
  return JOB_STATES.find((state) => message === state || message.startsWith(`${state}:`)) ?? null;
}
