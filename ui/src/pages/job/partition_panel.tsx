// Where the parameters are: a bar for each task that holds some, as long as its share.
import type {JSX} from 'preact';
import {useRef} from 'preact/hooks';

import {get} from '../../api/client';
import {usePoll} from '../../api/poll';
import {isAtRest, type Job, type Partition} from '../../api/types';
import {formatBytes, formatValue, plural} from '../../format/numbers';

const EVERY_MS = 4_000;

// Nothing where no attempt has told of it.
export function PartitionPanel({job}: {job: Job}): JSX.Element | null {
  const {state, attempt} = job.status;
  const told = useRef(0); // the newest attempt that has: nothing more comes of it
  const mayCome = !isAtRest(state) && told.current !== attempt;
  const {data} = usePoll(
    async (signal) => {
      const {partition} = await get('/v1/jobs/{id}/explain', {path: {id: job.id}, signal});
      told.current = partition?.attempt ?? 0;
      return partition;
    },
    {everyMs: mayCome ? EVERY_MS : 0, key: `${job.id} ${attempt}`},
  );
  return data ? <PartitionView partition={data} newest={attempt} /> : null;
}

function PartitionView({partition, newest}: {partition: Partition; newest: number}): JSX.Element {
  const {shares, tables, attempt} = partition;
  const largest = Math.max(1, ...shares.map((one) => one.bytes));
  return (
    <section class="panel" aria-labelledby="partition">
      <h2 id="partition">Parameters</h2>
      <p class="muted">
        {formatBytes(partition.bytes)} over {plural(shares.length, 'task')} by{' '}
        <code>{partition.policy}</code>
        {shares.length > 1 && <Balance value={partition.balance} />}
        {attempt !== newest && ` (attempt ${attempt})`}
      </p>
      <ul class="shares" tabIndex={0} aria-label="Shares">
        {shares.map((one) => (
          <li key={one.task} title={variablesOf(one)}>
            <b>{one.task}</b>
            <span class="share-bar" aria-hidden="true">
              <span style={{width: `${(100 * one.bytes) / largest}%`}} />
            </span>
            <span class="number">{formatBytes(one.bytes)}</span>
            <span class="muted">
              {formatValue(100 * one.share)} %{one.transport && `, by ${one.transport}`}
            </span>
          </li>
        ))}
      </ul>
      {tables.length > 0 && (
        <p class="muted">Rows of {tables.join(', ')} are spread over all of them by id.</p>
      )}
    </section>
  );
}

function Balance({value}: {value: number}): JSX.Element {
  return (
    <>
      ; the largest share is <b data-figure="balance">{formatValue(value)}</b> of the mean
    </>
  );
}

function variablesOf(share: Partition['shares'][number]): string {
  const names = share.variables.map((one) => `${one.name}: ${formatBytes(one.bytes)}`);
  if (share.variables_left_out > 0) names.push(`${share.variables_left_out} more`);
  return names.join('\n') || 'holds no variable';
}
