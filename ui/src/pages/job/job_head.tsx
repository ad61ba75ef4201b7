// The head of a job's page: what it is, how it is doing and why, and what can be done with it.
import type {ComponentChildren, JSX} from 'preact';

import type {Job} from '../../api/types';
import {formatPercent, formatRate, formatValue, NOTHING} from '../../format/numbers';
import {qualityOf} from '../../format/quality';
import {formatDuration, now, secondsBetween} from '../../format/times';
import {sentence} from '../../format/words';
import {CopyButton} from '../../parts/copy_button';
import {Labels} from '../../parts/labels';
import {Age} from '../../parts/moments';
import {ProgressBar, stepsOf} from '../../parts/progress_bar';
import {StateBadge} from '../../parts/state_badge';
import {Actions} from './actions';

export function JobHead({job, onChange}: {job: Job; onChange(): void}): JSX.Element {
  const {status} = job;
  return (
    <header class="job-head">
      <div class="job-title">
        <h1>{job.spec.name ?? job.id}</h1>
        <StateBadge state={status.state} />
        <Actions job={job} onChange={onChange} />
      </div>
      <p class="job-facts">
        <span class="id">
          {job.id}
          <CopyButton text={job.id} what="the job's id" />
        </span>
        <span>
          submitted <Age time={status.created_at} />
        </span>
        <Labels labels={job.spec.labels ?? {}} />
      </p>
      <p class="job-reason">
        {status.reason && <code class="reason">{status.reason}</code>}
        {status.state === 'stopping' && status.goal && <span>on the way to {status.goal}: </span>}
        <span>{sentence(status.message)}</span>
      </p>
      <div class="job-progress">
        <ProgressBar job={job} />
        <dl class="figures">
          <Figure name="progress">{formatPercent(status.progress)}</Figure>
          <Figure name="step">{stepsOf(job)}</Figure>
          <Time job={job} />
          {losses(job).map(([name, value]) => (
            <Figure key={name} name={name}>
              {formatValue(value)}
            </Figure>
          ))}
          <Figure name="examples/s">{formatRate(status.examples_per_second)}</Figure>
          <Figure name="attempt">{status.attempt || NOTHING}</Figure>
        </dl>
      </div>
    </header>
  );
}

function Figure({name, children}: {name: string; children: ComponentChildren}): JSX.Element {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd data-figure={name}>{children}</dd>
    </div>
  );
}

// Both of the same examples, which their names say: the test split once it was evaluated, until
// then the newest training batch.
function losses({status}: Job): Array<[string, number | null | undefined]> {
  const {metrics, loss} = status;
  const ofTest = qualityOf(metrics, 'test');
  const isTested = 'test_loss' in metrics || ofTest !== null;
  const quality = isTested ? ofTest : qualityOf(metrics, 'batch');
  const figures: Array<[string, number | null | undefined]> = isTested
    ? [['test loss', metrics['test_loss']]]
    : [['batch loss', loss]];
  if (quality) figures.push([quality.name, quality.value]);
  return figures;
}

// How long it ran, has waited, or will still run.
function Time({job}: {job: Job}): JSX.Element {
  const {state, created_at: created, started_at: started, finished_at: finished} = job.status;
  if (finished) {
    const ran = started ? formatDuration(secondsBetween(started, finished)) : NOTHING;
    return <Figure name="ran">{ran}</Figure>;
  }
  if (state === 'queued') {
    const since = [...job.status.transitions].reverse().find(({to}) => to === 'queued');
    const waited = formatDuration(secondsBetween(since?.time ?? created, now.value));
    return <Figure name="waiting for">{waited}</Figure>;
  }
  return <Figure name="ETA">{formatDuration(job.status.eta_seconds)}</Figure>;
}
