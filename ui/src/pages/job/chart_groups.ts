// Which series share a chart, and the curves in it.
import type {Series} from '../../api/types';
import {curveColor} from '../../charts/colors';
import {coordinates, positive, smooth, type Curve} from '../../charts/curve';
import type {MetricView} from './metric_tools';

export interface ComparedJob {
  id: string;
  name: string;
  series: Series[];
  start: number; // ms since 1970: 0 of its time axis
}

export interface ChartGroup {
  title: string;
  names: string[];
}

// In the order in which people look. A series that no row names has a chart of its own, with that
// of the other split.
const GROUPS: Array<{title: string; takes: (name: string) => boolean}> = [
  {title: 'Loss', takes: (name) => /^(test_)?loss$/.test(name)},
  {title: 'Accuracy', takes: (name) => /^(test_)?accuracy$/.test(name)},
  {title: 'Examples per second', takes: (name) => name === 'examples_per_second'},
  {title: 'Steps per second', takes: (name) => name === 'steps_per_second'},
  {title: 'GFLOP/s of gradients', takes: (name) => name === 'compute_gflops'},
  {title: 'Share of the cores’ peak', takes: (name) => name === 'compute_peak_fraction'},
  {title: 'Times as fast in …', takes: (name) => name.startsWith('speedup_in_')},
  {title: 'Step split (seconds)', takes: (name) => /_seconds$/.test(name)},
  {
    title: 'Staleness',
    takes: (name) => name.startsWith('staleness') && !name.startsWith('staleness_updates_'),
  },
  {title: 'Updates by staleness', takes: (name) => name.startsWith('staleness_updates_')},
  {title: 'Dropped contributions', takes: (name) => name.startsWith('dropped_contributions')},
  {title: 'Bytes per step', takes: (name) => name.startsWith('wire_bytes_')},
  {title: 'Learning rate', takes: (name) => name === 'learning_rate'},
];

// What the names of a chart's series have in common.
const SHARED_WORDS =
  /^(speedup_in|wire_bytes|staleness_updates|dropped_contributions)_|_(seconds|per_step)$/g;

export function groupsOf(series: Series[]): ChartGroup[] {
  const names = series.map((one) => one.name);
  const grouped = GROUPS.map(({title, takes}) => ({title, names: names.filter(takes)}));
  const others = names.filter((name) => !GROUPS.some(({takes}) => takes(name)));
  const bases = [...new Set(others.map((name) => name.replace(/^test_/, '')))];
  const pairs = bases.map((base) => {
    const both = others.filter((name) => name.replace(/^test_/, '') === base);
    return {title: both.length > 1 ? base : (both[0] ?? base), names: both};
  });
  return [...grouped, ...pairs]
    .filter((group) => group.names.length > 0)
    .map((group) => ({...group, names: group.names.sort(trainFirst)}));
}

// One job: a colour for each series. Several: a colour for each job, test series dashed.
export function chartCurves(names: string[], jobs: ComparedJob[], view: MetricView): Curve[] {
  const curves: Curve[] = [];
  jobs.forEach((job, jobIndex) =>
    names.forEach((name, nameIndex) => {
      const series = job.series.find((one) => one.name === name);
      if (!series) return;
      const {xs, ys: all} = coordinates(series, view.axis, job.start);
      const ys = view.isLog ? positive(all) : all;
      const look = {
        label: labelOf(name, names, jobs.length > 1 ? job : null),
        color: curveColor(jobs.length > 1 ? jobIndex : nameIndex),
        isDashed: name.startsWith('test_'),
        xs,
      };
      // Rare values are not smoothed: each is an average over the test split already.
      if (view.smoothing > 0 && !look.isDashed) {
        curves.push({...look, label: `${look.label} as measured`, isFaint: true, ys});
        curves.push({...look, isFaint: false, ys: smooth(ys, view.smoothing)});
      } else {
        curves.push({...look, isFaint: false, ys});
      }
    }),
  );
  return curves;
}

function labelOf(name: string, names: string[], job: ComparedJob | null): string {
  const which =
    names.length === 1 && !name.startsWith('speedup_in_')
      ? ''
      : name.startsWith('test_')
        ? 'test'
        : names.length === 2 && names.some((one) => one.startsWith('test_'))
          ? 'train'
          : name.replace(SHARED_WORDS, '');
  return job === null ? which : `${job.name} ${which}`.trim();
}

function trainFirst(a: string, b: string): number {
  return Number(a.startsWith('test_')) - Number(b.startsWith('test_')) || a.localeCompare(b);
}
