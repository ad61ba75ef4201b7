// The jobs that wait, in the order in which they will be placed, each with why.
import type {JSX} from 'preact';
import {useState} from 'preact/hooks';

import {get} from '../../api/client';
import {usePoll} from '../../api/poll';
import type {Job} from '../../api/types';
import {plural} from '../../format/numbers';
import {Age} from '../../parts/moments';
import {linkTo} from '../../route';
import {ExplanationView} from '../job/waiting_reasons';

const EXPLAINED = 10; // at first, and more by each click
const EVERY_MS = 3_000;
const ASKED_AT_ONCE = 3;

export function Queue({jobs}: {jobs: Job[]}): JSX.Element {
  const [shown, setShown] = useState(EXPLAINED);
  const ordered = [...jobs].sort(byTurn);
  const first = ordered.slice(0, shown);
  const {data} = usePoll(
    (signal) =>
      explain(
        first.map((job) => job.id),
        signal,
      ),
    {everyMs: EVERY_MS, key: first.map((job) => job.id).join()},
  );
  return (
    <section class="panel queue" aria-labelledby="queue">
      <h2 id="queue">
        Queue <span class="muted">{plural(jobs.length, 'job')}</span>
      </h2>
      {jobs.length === 0 && <p class="muted">Nothing waits.</p>}
      <ol>
        {first.map((job, index) => {
          const explanation = data?.get(job.id);
          return (
            <li key={job.id} class="waiting">
              <span class="waiting-place">{index + 1}</span>
              <div>
                <p>
                  <a class="job-link" href={linkTo(['jobs', job.id])}>
                    {job.spec.name ?? job.id}
                  </a>
                  <span class="muted">
                    <span class="id">{job.id}</span> · priority {priorityOf(job)} · submitted{' '}
                    <Age time={job.status.created_at} />
                  </span>
                </p>
                {explanation ? (
                  <ExplanationView explanation={explanation} />
                ) : (
                  <p class="muted">{job.status.message}</p>
                )}
              </div>
            </li>
          );
        })}
      </ol>
      {ordered.length > shown && (
        <button type="button" class="quiet" onClick={() => setShown(shown + 2 * EXPLAINED)}>
          Show more of {ordered.length}
        </button>
      )}
    </section>
  );
}

async function explain(ids: string[], signal: AbortSignal) {
  const explanations = new Map<string, Awaited<ReturnType<typeof ask>>>();
  const ask = (id: string) => get('/v1/jobs/{id}/explain', {path: {id}, signal});
  for (let at = 0; at < ids.length; at += ASKED_AT_ONCE) {
    const some = ids.slice(at, at + ASKED_AT_ONCE);
    // A job that left the queue meanwhile has no explanation, and the next answer does not list
    // it.
    const answers = await Promise.allSettled(some.map(ask));
    answers.forEach((answer, index) => {
      if (answer.status === 'fulfilled') explanations.set(some[index] ?? '', answer.value);
    });
  }
  return explanations;
}

// As the scheduler has it: priority, then the order of submission.
function byTurn(a: Job, b: Job): number {
  return priorityOf(b) - priorityOf(a) || a.status.created_at.localeCompare(b.status.created_at);
}

function priorityOf(job: Job): number {
  return (job.spec.scheduling as {priority?: number} | undefined)?.priority ?? 50;
}
