// What can be done with a job, as far as its state allows it.
import type {JSX} from 'preact';
import {useState} from 'preact/hooks';

import {post, remove, wordsOf} from '../../api/client';
import {hasEnded, type Job} from '../../api/types';
import {confirm} from '../../parts/confirm';
import {Icon} from '../../parts/icons';
import {tell} from '../../parts/notices';
import {goTo, linkTo} from '../../route';

type Change = '/v1/jobs/{id}/cancel' | '/v1/jobs/{id}/suspend' | '/v1/jobs/{id}/resume';

export function Actions({job, onChange}: {job: Job; onChange(): void}): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const {state, goal} = job.status;
  const path = {id: job.id};
  const run = async (act: () => Promise<unknown>, did: string) => {
    setBusy(true);
    try {
      await act();
      tell(did);
      onChange();
    } catch (error) {
      tell(wordsOf(error), 'failed');
    }
    setBusy(false);
  };
  const change = (to: Change, did: string) => () => run(() => post(to, {path}), did);
  const cancel = async () => {
    const isSure = await confirm({
      title: 'Cancel this job?',
      text:
        'Its tasks are stopped and it does not start again. What it has reported, its logs ' +
        'and its checkpoints stay.',
      yes: 'Cancel the job',
    });
    if (isSure) await run(() => post('/v1/jobs/{id}/cancel', {path}), 'Cancelling');
  };
  const deleteJob = async () => {
    const isSure = await confirm({
      title: 'Delete this job?',
      text: 'Its checkpoints, metrics and logs are deleted with it. There is no way back.',
      yes: 'Delete the job',
    });
    if (!isSure) return;
    await run(async () => {
      await remove('/v1/jobs/{id}', {path});
      goTo(linkTo(['jobs']));
    }, 'Deleted');
  };
  const maySuspend = ['queued', 'starting', 'running'].includes(state);
  const mayCancel = !hasEnded(state) && !(state === 'stopping' && goal === 'cancelled');
  return (
    <div class="actions" role="group" aria-label="Actions">
      {maySuspend && (
        <button
          type="button"
          disabled={isBusy}
          onClick={change('/v1/jobs/{id}/suspend', 'Suspending')}
        >
          <Icon name="pause" />
          Suspend
        </button>
      )}
      {(state === 'suspended' || goal === 'suspended') && (
        <button
          type="button"
          disabled={isBusy}
          onClick={change('/v1/jobs/{id}/resume', 'Resuming')}
        >
          <Icon name="play" />
          Resume
        </button>
      )}
      <a class="button" href={linkTo(['submit'], {from: job.id})}>
        <Icon name="repeat" />
        Run again
      </a>
      {mayCancel && (
        <button type="button" class="danger" disabled={isBusy} onClick={cancel}>
          <Icon name="slash" />
          Cancel
        </button>
      )}
      {hasEnded(state) && (
        <button type="button" class="quiet" disabled={isBusy} onClick={deleteJob}>
          <Icon name="trash" />
          Delete
        </button>
      )}
    </div>
  );
}
