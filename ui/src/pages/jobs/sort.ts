// The order of the rows in view: newest first, or by a column that was picked.
import type {Job} from '../../api/types';
import {qualityOf} from '../../format/quality';

const VALUES: Record<string, (job: Job) => number | string | null | undefined> = {
  state: (job) => job.status.state,
  job: (job) => (job.spec.name ?? job.id).toLowerCase(),
  progress: (job) => job.status.progress,
  step: (job) => job.status.step,
  loss: (job) => job.status.loss,
  metric: (job) => qualityOf(job.status.metrics, 'test')?.value,
  rate: (job) => job.status.examples_per_second,
  eta: (job) => job.status.eta_seconds,
  age: (job) => -Date.parse(job.status.created_at),
};

// What has no value stands last, whichever way.
export function sorted(jobs: Job[], sort: string): Job[] {
  const valueOf = VALUES[sort.replace(/^-/, '')];
  if (!valueOf) return jobs;
  const sign = sort.startsWith('-') ? -1 : 1;
  return [...jobs].sort((a, b) => {
    const [x, y] = [valueOf(a) ?? null, valueOf(b) ?? null];
    if (x === null || y === null) return Number(x === null) - Number(y === null);
    return x === y ? 0 : x < y ? -sign : sign;
  });
}

// Up, down, and then newest first again.
export function nextSort(column: string, sort: string): string {
  if (sort === column) return `-${column}`;
  return sort === `-${column}` ? '' : column;
}
