// Why a job waits: its place in the queue and what each host lacks.
import type {JSX} from 'preact';

import {get} from '../../api/client';
import {usePoll} from '../../api/poll';
import type {Explanation, Job} from '../../api/types';
import {Failed, Loading} from '../../parts/notices';
import {Moment} from '../../parts/moments';
import {StateBadge} from '../../parts/state_badge';
import {sentence} from '../../format/words';
import {linkTo} from '../../route';

const EVERY_MS = 3_000;

export function WaitingReasons({job}: {job: Job}): JSX.Element {
  const {data, error} = usePoll(
    (signal) => get('/v1/jobs/{id}/explain', {path: {id: job.id}, signal}),
    {everyMs: EVERY_MS, key: job.id},
  );
  return (
    <section class="panel" aria-labelledby="waiting">
      <h2 id="waiting">Why it waits</h2>
      {error ? (
        <Failed what="No explanation is to be had" error={error} />
      ) : data ? (
        <ExplanationView explanation={data} />
      ) : (
        <Loading what="the explanation" />
      )}
    </section>
  );
}

export function ExplanationView({explanation}: {explanation: Explanation}): JSX.Element {
  const {hosts, would_free_enough: freeing, not_before: notBefore} = explanation;
  return (
    <div class="explanation">
      <p>
        {explanation.queue_position !== null && (
          <b>
            Number {explanation.queue_position} of {explanation.queue_length} in the queue.{' '}
          </b>
        )}
        {sentence(explanation.message)}
        {notBefore && (
          <>
            {' '}
            Not before <Moment time={notBefore} />.
          </>
        )}
      </p>
      {hosts.length > 0 && (
        <ul class="shortages">
          {hosts.map((host) => (
            <li key={host.agent}>
              <b>{host.agent}</b> <StateBadge state={host.state} /> <span>{host.message}</span>
            </li>
          ))}
        </ul>
      )}
      {freeing.length > 0 && (
        <p class="muted">
          There would be room if {freeing.length === 1 ? 'this job' : 'these jobs'} ended:{' '}
          {freeing.map((id, index) => (
            <span key={id}>
              {index > 0 && ', '}
              <a href={linkTo(['jobs', id])}>{id}</a>
            </span>
          ))}
        </p>
      )}
    </div>
  );
}
