// What can be done with the jobs that are selected.
import type {JSX} from 'preact';

import {post, remove, wordsOf} from '../../api/client';
import {hasEnded, type Job} from '../../api/types';
import {plural} from '../../format/numbers';
import {confirm} from '../../parts/confirm';
import {Icon} from '../../parts/icons';
import {tell} from '../../parts/notices';
import {goTo} from '../../route';
import {linkToComparison, MOST_COMPARED} from '../job/comparison';

interface SelectionBarProps {
  jobs: Job[];
  onClear(): void;
  onDone(): void;
}

export function SelectionBar({jobs, onClear, onDone}: SelectionBarProps): JSX.Element | null {
  if (jobs.length === 0) return null;
  const active = jobs.filter((job) => !hasEnded(job.status.state));
  const ended = jobs.filter((job) => hasEnded(job.status.state));
  const cancel = async () => {
    const isSure = await confirm({
      title: `Cancel ${plural(active.length, 'job')}?`,
      text: 'Their tasks are stopped. Checkpoints, metrics and logs stay.',
      yes: `Cancel ${plural(active.length, 'job')}`,
    });
    if (!isSure) return;
    await each(active, 'Cancelled', (id) => post('/v1/jobs/{id}/cancel', {path: {id}}));
    onClear();
    onDone();
  };
  const deleteEnded = async () => {
    const isSure = await confirm({
      title: `Delete ${plural(ended.length, 'job')}?`,
      text: 'Their checkpoints, metrics and logs are deleted with them. There is no way back.',
      yes: `Delete ${plural(ended.length, 'job')}`,
    });
    if (!isSure) return;
    await each(ended, 'Deleted', (id) => remove('/v1/jobs/{id}', {path: {id}}));
    onClear();
    onDone();
  };
  return (
    <div class="selection" role="region" aria-label="Selected jobs">
      <span>{plural(jobs.length, 'job')} selected</span>
      <button
        type="button"
        disabled={jobs.length < 2 || jobs.length > MOST_COMPARED}
        title={`The curves of 2 to ${MOST_COMPARED} jobs beside each other`}
        onClick={() => goTo(linkToComparison(jobs.map((job) => job.id)))}
      >
        Compare
      </button>
      <button type="button" class="danger" disabled={active.length === 0} onClick={cancel}>
        <Icon name="slash" />
        Cancel {active.length || ''}
      </button>
      <button type="button" disabled={ended.length === 0} onClick={deleteEnded}>
        <Icon name="trash" />
        Delete {ended.length || ''}
      </button>
      <button type="button" class="quiet" onClick={onClear}>
        Clear
      </button>
    </div>
  );
}

async function each(
  jobs: Job[],
  did: string,
  act: (id: string) => Promise<unknown>,
): Promise<void> {
  let done = 0;
  for (const job of jobs) {
    try {
      await act(job.id);
      ++done;
    } catch (error) {
      tell(`${job.spec.name ?? job.id}: ${wordsOf(error)}`, 'failed');
    }
  }
  if (done > 0) tell(`${did} ${plural(done, 'job')}`);
}
