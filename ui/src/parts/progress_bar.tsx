// How far a job is.
import type {JSX} from 'preact';

import type {Job} from '../api/types';
import {formatCount, formatPercent, formatRate} from '../format/numbers';

export function ProgressBar({job}: {job: Job}): JSX.Element {
  const {progress, state} = job.status;
  return (
    <span
      class={`bar bar-${state}`}
      role="progressbar"
      aria-label="progress"
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.floor(progress * 100)}
      aria-valuetext={`${formatPercent(progress)}, step ${stepsOf(job)}`}
    >
      <span class="bar-fill" style={{width: `${(progress * 100).toFixed(2)}%`}} />
    </span>
  );
}

const LONG = 10_000_000; // steps, from where on the end is only named

export function stepsOf(job: Job): string {
  const {step, max_steps: most} = job.status;
  if (most === null) return formatCount(step);
  return `${formatCount(step)} / ${most < LONG ? formatCount(most) : formatRate(most)}`;
}
