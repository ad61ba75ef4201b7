// Where in its curves a job was started again.
import type {Job, Series} from '../../api/types';
import type {Mark} from '../../charts/chart';
import type {Axis} from '../../charts/curve';

// A restart is at the first point that was reported after it: what earlier attempts did beyond
// their last checkpoint is not part of a curve.
export function restartMarks(job: Job, series: Series[], axis: Axis): Mark[] {
  const points = series.find((one) => one.name === 'loss')?.points ?? series[0]?.points ?? [];
  const start = startOf(job);
  const marks: Mark[] = [];
  for (const {to, time, attempt} of job.status.transitions) {
    if (to !== 'running' || attempt < 2) continue;
    const first = points.find((point) => point.time >= time);
    const x = axis === 'time' ? (new Date(time).getTime() - start) / 1000 : first?.step;
    if (x !== undefined) marks.push({x, label: `attempt ${attempt}`});
  }
  return marks;
}

// Where the time axis of a job's curves begins, in ms since 1970.
export function startOf(job: Job): number {
  return new Date(job.status.started_at ?? job.status.created_at).getTime();
}
